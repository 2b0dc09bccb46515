// What was asked comes into view once, as it is first drawn, growing or answered; a citation opens its
// chunk; what is open stays so when the page is drawn again; buttons tell the server.
const opened = new Set(), folded = new Set();
let marked = '', asked = 0;
const show = () => {
  const row = [...element.querySelectorAll('.rn-history > section')].at(-1);
  const number = Number(row?.dataset.number || 0);
  if (number > asked) row.scrollIntoView({behavior: 'smooth', block: 'start'});
  asked = Math.max(asked, number);
  for (const key of opened) {
    const one = document.getElementById(key);
    if (one && !one.open) one.open = true;
  }
  for (const button of element.querySelectorAll('[data-fold]')) {
    const on = folded.has(button.dataset.fold);
    if (button.ariaPressed !== String(on)) button.ariaPressed = String(on);
    document.getElementById(button.dataset.fold).classList.toggle('rn-as-columns', on);
  }
  const chunk = marked && document.getElementById(marked);
  if (chunk && !chunk.classList.contains('rn-shown')) chunk.classList.add('rn-shown');
};
const fold = (summary) => {
  const one = summary.parentElement;
  if (one.id) opened[one.open ? 'delete' : 'add'](one.id);
};
const cite = (chip) => {
  const chunk = document.getElementById(chip.dataset.to);
  if (!chunk) return;
  element.querySelectorAll('.rn-shown').forEach((one) => one.classList.remove('rn-shown'));
  marked = chunk.id;
  opened.add(chunk.closest('.rn-chunks').id).add(chunk.querySelector('.rn-chunk').id);
  show();
  (chunk.querySelector('mark') || chunk).scrollIntoView({behavior: 'smooth', block: 'center'});
};
const columns = (button) => {
  folded[folded.has(button.dataset.fold) ? 'delete' : 'add'](button.dataset.fold);
  show();
};
const act = (button) => {
  const sent = {...button.dataset};
  trigger({stop: 'stop', open: 'select'}[sent.act] || 'click', sent);
};
element.addEventListener('click', (event) => {
  for (const [selector, work] of [['button.rn-chip', cite], ['summary', fold],
    ['button[data-fold]', columns],
    ['button[data-act]', act]]) {
    const found = event.target.closest(selector);
    if (found) return work(found);
  }
});
new MutationObserver(show).observe(element,
  {subtree: true, childList: true, attributes: true, attributeFilter: ['open', 'class', 'id']});
