// A passage opens in its document; letters press the buttons, but where text is typed; Enter and Esc
// end that. Where the next passage has no question yet, the cursor goes into the box.
element.addEventListener('click', (event) => {
  const picked = event.target.closest('button[data-act]');
  if (picked) trigger('click', {...picked.dataset});
});
const keys = {a: 'accept', r: 'reject', z: 'undo', n: 'next', s: 'shorter', l: 'longer',
  w: 'elsewhere', e: 'text textarea', q: 'text textarea'};
const question = () => element.querySelector('[data-question]')?.dataset.question;
let seen = question();
let acted = false; // a visitor led to the next question; a page that is loaded again takes no cursor
let sent = 0; // when Enter was; what is typed before the next card comes is for neither of both
const press = (event) => {
  if (!element.isConnected) return document.removeEventListener('keydown', press);
  if (event.target.matches('#rn-review-text textarea') && ['Enter', 'Escape'].includes(event.key)) {
    setTimeout(() => event.target.blur());
    acted = event.key === 'Enter';
    if (acted) sent = performance.now();
  }
  const key = event.key.toLowerCase();
  const free = !event.target.closest('input, textarea, select, [contenteditable]');
  if (!free || !element.offsetParent || !keys[key] || event.repeat) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (performance.now() < sent + 2000) return;
  const one = document.querySelector(`#rn-review-${keys[key]}`);
  if (!one?.matches('textarea')) {
    acted = true;
    return one?.click();
  }
  one.focus();
  if (key !== 'q') return;
  one.select();
  document.execCommand('delete');
};
document.addEventListener('keydown', press);
const lead = (event) => {
  if (!element.isConnected) return document.removeEventListener('click', lead);
  if (event.target.closest('#rn-review-buttons, #rn-questions-tools')) acted = true;
};
document.addEventListener('click', lead);
new MutationObserver(() => {
  element.querySelector('mark')?.scrollIntoView({block: 'nearest'});
  if (question() === seen) return;
  seen = question();
  sent = 0;
  if (!acted) return;
  acted = false;
  if (element.querySelector('[data-asked]')) document.querySelector('#rn-review-text textarea')?.focus();
}).observe(element, {subtree: true, childList: true, characterData: true, attributes: true,
  attributeFilter: ['data-question']});
