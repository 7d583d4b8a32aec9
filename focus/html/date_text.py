"""Parses dates as pages write them, in about twenty languages.

    parse_date   the first date in a text, in the zone that it states
    DAY_FORMS    patterns of a day in words or numbers

A date consists of a day and, optionally, a time of day with a zone. A numeric day with the year
last (`3/4/2026`) has the day first, except in `MONTH_FIRST_LANGUAGES` with slashes.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime, timedelta, timezone, tzinfo

_MONTH_NAMES = """
january february march april may june july august september october november december
januar februar märz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
januari februari maart april mei juni juli augustus september oktober november december
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь
січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня
ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia
ledna února března dubna května června července srpna září října listopadu prosince
januar februar marts april maj juni juli august september oktober november december
ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie
január február március április május június július augusztus szeptember október november december
tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta
lokakuuta marraskuuta joulukuuta
ιανουαρίου φεβρουαρίου μαρτίου απριλίου μαΐου ιουνίου ιουλίου αυγούστου σεπτεμβρίου οκτωβρίου
νοεμβρίου δεκεμβρίου
januari februari maret april mei juni juli agustus september oktober november desember
يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر
януари февруари март април май юни юли август септември октомври ноември декември
siječnja veljače ožujka travnja svibnja lipnja srpnja kolovoza rujna listopada studenoga prosinca
januára februára marca apríla mája júna júla augusta septembra októbra novembra decembra
јануар фебруар март април мај јун јул август септембар октобар новембар децембар
sausio vasario kovo balandžio gegužės birželio liepos rugpjūčio rugsėjo spalio lapkričio gruodžio
มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน กรกฎาคม สิงหาคม กันยายน ตุลาคม พฤศจิกายน ธันวาคม
בינואר בפברואר במרץ באפריל במאי ביוני ביולי באוגוסט בספטמבר באוקטובר בנובמבר בדצמבר
ژانویه فوریه مارس آوریل مه ژوئن ژوئیه اوت سپتامبر اکتبر نوامبر دسامبر
जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर
""".split()
MONTH_FIRST_LANGUAGES = ("", "en", "en-us")
_ZONE_HOURS = {"est": -5, "edt": -4, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
               "cet": 1, "mez": 1, "cest": 2, "mesz": 2, "bst": 1, "msk": 3, "ist": 5.5,
               "jst": 9, "kst": 9}  # fmt: skip
STATED_UTC = timezone(timedelta(), "UTC")
"""The zone of a date that states UTC, unlike `datetime.UTC` of one without a zone."""

_AFTERNOON = frozenset(("下午", "晚上", "晚", "傍晚", "夜间", "오후", "午後", "p"))
_MORNING = frozenset(("凌晨", "오전", "午前", "a"))

_NOON = r"(?P<noon>上午|下午|晚上|凌晨|中午|早上|清晨|傍晚|夜间|晚|早|오전|오후|午前|午後)?"
_WEEKDAY = (
    r"(?:[（(]?(?:星期|周|週)[一二三四五六日天][）)]?|[（(][月火水木金土日월화수목금토일][）)])"
)
_CLOCK = (
    rf"(?:[ ,，]{{0,2}}{_WEEKDAY})?(?:[t ,，|·•–-]{{0,4}}"
    r"(?:at |um |à |às |a las |alle |ore |saat |klo? |kl\. |о |в )?"
    rf"{_NOON} ?(?P<H>\d{{1,2}}) ?[:：时時点點시h] ?(?P<M>\d{{2}})(?!\d)"
    r"(?: ?[:：分분] ?(?P<S>\d{2})(?!\d)秒?)?(?:[.,]\d{1,9})?[分분]? ?(?P<half>[ap])?\.?(?(half)m)"
    r" ?(?P<zone>(?:gmt|utc)?[+-]\d{2}:?\d{2}(?!\d)|z(?![a-z])|utc|gmt|[a-z]{3,4}(?![a-z]))?)?"
)
_YEAR = r"(?<![\d.])(?P<y>(?:19|20)\d\d)"
_YEAR_LAST = r"(?P<y>(?:19|20)\d\d)(?!\d)"
_MONTH = r"(?P<month>[^\W\d_](?:[^\W\d_]|[\u0900-\u0dff\u0e31-\u0e4e]){2,14})\.?"  # and vowel signs
_NUMERIC = re.compile(
    rf"{_YEAR} ?(?:[年년][ .]?(?P<m1>\d{{1,2}}) ?[月월] ?(?P<d1>\d{{1,2}})(?!\d) ?[日일]?"
    rf"|(?P<sign>[-/.]) ?(?P<m2>\d{{1,2}})(?P=sign) ?(?P<d2>\d{{1,2}})(?!\d)"
    rf"|\.?(?: m\.)? {_MONTH} (?P<d3>\d{{1,2}})(?!\d)){_CLOCK}"
)
_COMPACT = re.compile(
    r"(?<!\d)(?P<y>(?:19|20)\d\d)(?P<m>\d\d)(?P<d>\d\d)"
    r"(?:t?(?P<H>\d\d):?(?P<M>\d\d):?(?P<S>\d\d)?)?(?P<zone>z|[+-]\d{2}:?\d{2})?(?!\d)"
)
_DAY_FIRST = re.compile(
    rf"(?<!\d)(?P<d>\d{{1,2}})(?:st|nd|rd|th|er|º|ª)?\.?[ /-]?(?:de |of )?{_MONTH}"
    rf",?[ /-]?(?:del? )?{_YEAR_LAST}{_CLOCK}"
)
_MONTH_FIRST = re.compile(
    rf"(?<![^\W\d_]){_MONTH} (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?:{_YEAR_LAST}{_CLOCK}"
    r"|(?P<H2>\d{2}):(?P<M2>\d{2}):(?P<S2>\d{2}) (?P<zone2>[a-z]{3,4}) (?P<y2>20\d\d))"
)
_YEAR_LAST_NUMERIC = re.compile(
    rf"(?<![\d./-])(?P<p1>\d{{1,2}})(?P<sign>[./-]) ?(?P<p2>\d{{1,2}})(?P=sign)"
    rf" ?{_YEAR_LAST}{_CLOCK}"
)
_SHORT_YEAR = re.compile(
    r"(?<![\d./-])(?P<p1>\d{1,2})(?P<sign>[./])(?P<p2>\d{1,2})(?P=sign)(?P<y>[0-4]\d)(?![\d./])"
)
_ERAS = {"令和": 2018, "平成": 1988, "民國": 1911, "民国": 1911}
_ERA_YEAR = re.compile(rf"({'|'.join(_ERAS)})(\d{{1,3}}|元)年")
_THAI_YEAR = re.compile(r"(?<=[\u0e00-\u0e7f.] )25\d\d(?!\d)")
_NUMBERED_MONTH = re.compile(r"(\d{1,2}) tháng (\d{1,2})(?:,| năm)? (?=\d{4})")
_HAN_DAY = re.compile(
    "([〇○零一二三四五六七八九]{4})年([一二三四五六七八九十]{1,3})月([一二三四五六七八九十]{1,3})日"
)
_DIGITS = {
    ord(sign): str(at)
    for signs in ("〇一二三四五六七八九", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹", "०१२३४५६७८९")
    for at, sign in enumerate(signs)
} | {ord("○"): "0", ord("零"): "0"}
_FOREIGN_DIGITS = {sign: digit for sign, digit in _DIGITS.items() if sign < 0x3000}
_EPOCH = re.compile(r"\s*(\d{10})(\d{3})?\s*")
DAY_FORMS = (_NUMERIC, _DAY_FIRST, _MONTH_FIRST, _YEAR_LAST_NUMERIC)
_ALL_FORMS = (*DAY_FORMS, _COMPACT)


def _month_prefixes() -> dict[str, int]:
    """Return the number of the month by every beginning of its names that is unambiguous."""
    months: dict[str, int] = {}
    for at, name in enumerate(_MONTH_NAMES):
        plain = "".join(
            c for c in unicodedata.normalize("NFD", name) if not unicodedata.combining(c)
        )
        for form in (name, plain):
            for end in range(3, len(form) + 1):
                month = at % 12 + 1
                if months.setdefault(form[:end], month) != month and end < len(form):
                    months[form[:end]] = 0
    return months


_MONTHS = (
    _month_prefixes()
    | {name[:3]: number for number, name in enumerate(_MONTH_NAMES[:12], 1)}
    | {"jänner": 1, "feber": 2}
)


def fold_date_signs(text: str) -> str:
    """Return a text in lower case with dates in digits of ASCII and years of the common era.

    Example: `二〇二六年十一月二十一日`, `令和8年` and `２１ พฤศจิกายน 2569` become
    `2026年11月21日`, `2026年` and `21 พฤศจิกายน 2026`.
    """
    text = text.lower()
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text).translate(_FOREIGN_DIGITS)
    text = _HAN_DAY.sub(
        lambda m: f"{m[1].translate(_DIGITS)}年{_han_number(m[2])}月{_han_number(m[3])}日", text
    )
    text = _ERA_YEAR.sub(lambda m: f"{_ERAS[m[1]] + int(m[2].replace('元', '1'))}年", text)
    text = _THAI_YEAR.sub(lambda m: str(int(m[0]) - 543), text)
    return _NUMBERED_MONTH.sub(r"\1/\2/", text)


def _han_number(text: str) -> int:
    """Return a number below 100 in Chinese numerals: 二十一 is 21."""
    tens, ten, units = text.rpartition("十")
    return 10 * bool(ten) * int((tens or "一").translate(_DIGITS)) + int(
        (units or "〇").translate(_DIGITS)
    )


def parse_date(
    text: str,
    zone: tzinfo,
    day_zone: tzinfo | None = None,
    *,
    language: str = "",
    short: bool = False,
) -> datetime | None:
    """Return the first date in a text, in the zone that it states; None if there is none.

    zone      of dates without a zone
    day_zone  of dates without a time of day, which are its first minute; None means `zone`
    language  of the text, such as en-gb: decides whether 3/4/2026 is in March or April
    short     whether years of two digits count, as in 21.11.26

    Example: `Sat, 21 Nov 2026 08:30:00 GMT`, `2026年11月21日 16:30` in Shanghai and
    `1795249800` are the same time; the first has the zone UTC.
    """
    text = fold_date_signs(text).replace("\\u002b", "+").replace("\xa0", " ")
    if epoch := _EPOCH.fullmatch(text):
        return datetime.fromtimestamp(float(epoch[1]), STATED_UTC)
    day_zone = zone if day_zone is None else day_zone
    if (first := _NUMERIC.match(text)) and (date := match_date(first, zone, day_zone, language)):
        return date  # most texts: no other form is searched
    forms = (*_ALL_FORMS, _SHORT_YEAR) if short else _ALL_FORMS
    matches = sorted((match for form in forms if (match := form.search(text))), key=re.Match.start)
    dates = (match_date(match, zone, day_zone, language) for match in matches)
    return next((date for date in dates if date is not None), None)


def match_date(
    match: re.Match[str], zone: tzinfo, day_zone: tzinfo, language: str = ""
) -> datetime | None:
    """Return the date in a match of one of the forms; None if there is no such day."""
    groups = match.groupdict()
    get = groups.get
    year = int(get("y") or get("y2") or 0)
    month, day = get("m") or get("m1") or get("m2"), get("d") or get("d1") or get("d2") or get("d3")
    if get("p1"):
        day, month = groups["p1"], groups["p2"]
        if int(month) > 12 or (get("sign") == "/" and language in MONTH_FIRST_LANGUAGES):
            day, month = (month, day) if int(day) <= 12 else (day, month)
    number = int(month) if month else _MONTHS.get(get("month") or "", 0)
    hour, minute, second = (int(get(name) or get(f"{name}2") or 0) for name in "HMS")
    half = get("half") or get("noon")
    if hour < 12 and (half in _AFTERNOON or (half == "中午" and hour < 6)):
        hour += 12
    elif hour == 12 and half in _MORNING:
        hour = 0
    offset = get("zone") or get("zone2")
    date_zone = (_parse_zone(offset) if offset else None) or (zone if get("H") else day_zone)
    try:
        return datetime(
            year + 2000 if year < 100 else year, number, int(day or 0), hour, minute,
            min(second, 59), tzinfo=date_zone,  # 60 is a leap second
        )  # fmt: skip
    except ValueError:
        return None


def _parse_zone(text: str) -> tzinfo | None:
    """Return a fixed offset; UTC if it is more than 14 hours, None for an unknown name."""
    text = re.sub("^(?:gmt|utc)(?=[+-])", "", text)
    if text in ("z", "utc", "gmt"):
        return STATED_UTC
    if text[0] not in "+-":
        hours = _ZONE_HOURS.get(text)
        return None if hours is None else timezone(timedelta(hours=hours))
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    offset = timedelta(minutes=-minutes if text[0] == "-" else minutes)
    return timezone(offset) if 0 < minutes <= 14 * 60 else STATED_UTC
