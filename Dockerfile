# focus in a container: nothing but Python, the package and its own user; no shell is needed to run it.
#   docker build -t focus .
#   docker run --rm -v focus:/data focus crawl --seed example.com --topic football --max-pages 100
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt sbom.cdx.json README.md LICENSE ./
COPY focus focus
RUN python -m venv /opt/focus
RUN /opt/focus/bin/pip install --no-cache-dir --constraint constraints.txt '.[serve,apprise,cluster,documents,markdown,parquet]'

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /data --create-home focus
COPY --from=build /opt/focus /opt/focus
ENV PATH=/opt/focus/bin:$PATH PYTHONDONTWRITEBYTECODE=1 FOCUS_DB=/data/focus.db
USER focus
WORKDIR /data
VOLUME /data
ENTRYPOINT ["focus"]
CMD ["--help"]
