const SHAPE = /^[-+]?[\d,]*\.?\d+(e[-+]?\d+)?( ?%| –.*| \(.*\))?$/i;
const EMPTY = new Set(['', '–']);
const number = s => SHAPE.test(s) ? parseFloat(s.replace(/,/g, '')) : null;
const text = (row, column) => row.cells[column].textContent.trim();
for (const table of document.querySelectorAll('table')) {
  const rows = [...table.tBodies[0].rows];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const isWord = cell => !EMPTY.has(cell) && number(cell) === null;
    const words = rows.some(row => isWord(text(row, column)));
    if (words)
      for (const row of [table.tHead.rows[0], ...rows]) row.cells[column].classList.add('text');
    head.firstChild.addEventListener('click', () => {
      const now = head.getAttribute('aria-sort');
      const up = words ? now !== 'ascending' : now === 'descending';
      for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      rows.sort((a, b) => {
        const x = text(a, column), y = text(b, column);
        if (EMPTY.has(x) || EMPTY.has(y)) return EMPTY.has(x) - EMPTY.has(y);
        const order = words ? x.localeCompare(y) : number(x) - number(y);
        return up ? order : -order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
for (const section of document.querySelectorAll('section')) {
  const of = n => section.querySelectorAll(`svg.chart [data-series="${n}"]`);
  for (const button of section.querySelectorAll('.key button')) {
    const n = button.dataset.series;
    button.addEventListener('click', () => {
      const hidden = button.classList.toggle('hidden');
      of(n).forEach(each => each.classList.toggle('off', hidden));
    });
    for (const [event, on] of [['pointerenter', true], ['pointerleave', false]])
      button.addEventListener(event, () => of(n).forEach(each => each.classList.toggle('on', on)));
  }
}
