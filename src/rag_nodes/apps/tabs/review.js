// A passage opens in its document; letters press the buttons, but where text is typed; Enter and Esc
// end that. The next question is typed at once, where keys led to it.
element.addEventListener('click', (event) => {
  const picked = event.target.closest('button[data-act]');
  if (picked) trigger('click', {...picked.dataset});
});
const keys = {a: 'accept', r: 'reject', z: 'undo', n: 'next', s: 'shorter', l: 'longer',
  w: 'elsewhere', e: 'text textarea', q: 'text textarea'};
let decided = false;
const press = (event) => {
  if (!element.isConnected) return document.removeEventListener('keydown', press);
  if (event.target.matches('#rn-review-text textarea')) {
    decided ||= event.key === 'Enter';
    if (['Enter', 'Escape'].includes(event.key)) setTimeout(() => event.target.blur());
  }
  const key = event.key.toLowerCase();
  const free = !event.target.closest('input, textarea, select, [contenteditable]');
  if (!free || !element.offsetParent || !keys[key] || event.repeat) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const one = document.querySelector(`#rn-review-${keys[key]}`);
  decided ||= 'arnwz'.includes(key);
  if (!one?.matches('textarea')) return one?.click();
  one.focus();
  if (key !== 'q') return;
  one.select();
  document.execCommand('delete');
};
document.addEventListener('keydown', press);
new MutationObserver(() => {
  element.querySelector('mark')?.scrollIntoView({block: 'nearest'});
  if (decided && element.querySelector('[data-asked]'))
    document.querySelector('#rn-review-text textarea')?.focus();
  decided = false;
}).observe(element, {subtree: true, childList: true});
