// A passage opens in its document; letters press the buttons, but where text is typed; Enter and Esc
// end that. The next question is typed at once, where keys led to it.
element.addEventListener('click', (event) => {
  const picked = event.target.closest('button[data-act]');
  if (picked) trigger('click', {...picked.dataset});
});
const keys = {a: 'accept', r: 'reject', z: 'undo', n: 'next', s: 'shorter', l: 'longer',
  w: 'elsewhere', e: 'text textarea', q: 'text textarea'};
const shown = () => [...element.querySelectorAll('.rn-progress, mark')].map((one) => one.textContent).join();
let decided = null; // what keys have dealt with
const press = (event) => {
  if (!element.isConnected) return document.removeEventListener('keydown', press);
  if (event.target.matches('#rn-review-text textarea')) {
    const stays = event.key === 'Enter' && element.querySelector('[data-asked]');
    if (['Enter', 'Escape'].includes(event.key) && !stays) setTimeout(() => event.target.blur());
  }
  const key = event.key.toLowerCase();
  const free = !event.target.closest('input, textarea, select, [contenteditable]');
  if (!free || !element.offsetParent || !keys[key] || event.repeat) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const one = document.querySelector(`#rn-review-${keys[key]}`);
  if ('arnwz'.includes(key)) decided = shown();
  if (!one?.matches('textarea')) return one?.click();
  one.focus();
  if (key !== 'q') return;
  one.select();
  document.execCommand('delete');
};
document.addEventListener('keydown', press);
new MutationObserver(() => {
  element.querySelector('mark')?.scrollIntoView({block: 'nearest'});
  if ([null, shown()].includes(decided)) return;
  if (!element.querySelector('[data-asked]')) return;
  decided = null;
  document.querySelector('#rn-review-text textarea')?.focus();
}).observe(element, {subtree: true, childList: true});
