const under = (event) => document.elementsFromPoint(event.clientX, event.clientY)
  .map((one) => one.closest?.('[data-k]')).find((one) => one && element.contains(one));
const numbers = (one) => (one?.dataset.k || '').split(' ').filter(Boolean);
const light = (chosen) => element.querySelectorAll('[data-k]').forEach((one) =>
  one.classList.toggle('rn-lit', numbers(one).some((number) => chosen.includes(number))));
element.addEventListener('mousemove', (event) => light(numbers(under(event))));
element.addEventListener('mouseleave', () => light([]));
element.addEventListener('focusin', (event) => light(numbers(event.target.closest('.rn-piece'))));
element.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-act]');
  if (button) return trigger('click', {...button.dataset});
  if (!event.target.closest('.rn-sheet') || !getSelection().isCollapsed) return;
  const card = element.querySelector(`#rn-piece-${numbers(under(event))[0]}`);
  if (!card) return;
  element.querySelectorAll('[data-k]').forEach((one) =>
    one.classList.toggle('rn-shown', numbers(one).includes(card.dataset.k)));
  card.querySelector('details').open = true;
  card.scrollIntoView({behavior: 'smooth', block: 'nearest'});
});
element.addEventListener('keydown', (event) => {
  const step = {ArrowLeft: '0', ArrowRight: '1'}[event.key];
  const sheet = event.target;
  if (step && sheet.matches('.rn-sheet') && sheet.scrollWidth <= sheet.clientWidth)
    trigger('click', {act: 'turn', forth: step});
});

// A button follows what is selected and sends which characters of the document these are. Every piece
// of text on the page says its offset; the rest is counted as Python does.
const at = (node, offset) => {
  const home = (node.nodeType === 3 ? node.parentElement : node).closest?.('[data-at]');
  if (!home || !element.contains(home)) return null;
  const range = document.createRange();
  range.setStart(home, 0);
  range.setEnd(node, offset);
  return Number(home.dataset.at) + [...range.toString()].length;
};
const within = () => {
  const sheet = element.querySelector('.rn-sheet'), chosen = getSelection();
  if (!sheet || !chosen.rangeCount || chosen.isCollapsed) return null;
  const range = chosen.getRangeAt(0);
  const held = [...sheet.querySelectorAll('[data-at]')].filter((one) => range.intersectsNode(one));
  if (!held.length) return null;
  const last = held.at(-1), whole = (one) => Number(one.dataset.at) + [...one.textContent].length;
  const start = at(range.startContainer, range.startOffset) ?? Number(held[0].dataset.at);
  const end = at(range.endContainer, range.endOffset) ?? whole(last);
  return start < end ? {range, start, end} : null;
};
const follow = () => {
  if (!element.isConnected) return document.removeEventListener('selectionchange', follow);
  const here = element.querySelector('.rn-mark-here'), chosen = within();
  if (!here) return;
  here.hidden = !chosen;
  if (!chosen) return;
  const home = here.parentElement.getBoundingClientRect();
  const last = [...chosen.range.getClientRects()].pop() || home;
  here.style.top = `${last.bottom - home.top + 6}px`;
  const most = home.width - here.offsetWidth;
  here.style.left = `${Math.max(0, Math.min(most, last.right - home.left - here.offsetWidth))}px`;
};
document.addEventListener('selectionchange', follow);
element.addEventListener('mousedown', (event) => {
  if (event.target.closest('.rn-mark-here')) event.preventDefault();
});
element.addEventListener('click', (event) => {
  const chosen = event.target.closest('.rn-mark-here') && within();
  if (!chosen) return;
  const sent = {document: element.querySelector('.rn-sheet').dataset.document,
    start: `${chosen.start}`, end: `${chosen.end}`, text: chosen.range.toString()};
  getSelection().removeAllRanges();
  trigger('select', sent);
});
