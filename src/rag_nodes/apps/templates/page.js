// The script of the page. The server answers each action with the regions that changed, each with the
// number of its change; a region that shows a later change stays, so replies may come in any order.
const root = element.querySelector('.rn');
const find = (selector) => root.querySelector(selector), view = find('.rn-view');
const all = (selector, within = root) => [...within.querySelectorAll(selector)];
const region = (name) => find(`[data-region="${CSS.escape(name)}"]`);
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

// A random token of the tab leads to its session. It outlives a reload; no other tab has it.
let token = '', known = false;
try { token = sessionStorage.getItem('rag_nodes') || ''; } catch { /* it may be forbidden */ }
if (/^[0-9a-f]{48}$/.test(token)) known = true;
else {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  token = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  try { sessionStorage.setItem('rag_nodes', token); } catch { /* a reload begins again then */ }
}

let epoch = '', since = 0, looking = false, wanted = false;
const seen = new Map(), opened = new Map();
const numberOf = (name) => Number(name.split(' ').pop());

const homeOf = (patch) => {
  const parent = region(patch.parent), home = document.createElement('section');
  home.dataset.region = patch.name;
  home.className = 'rn-turn';
  // The newest stands first, right below the question.
  const older = [...parent.children].find((child) => numberOf(child.dataset.region) < numberOf(patch.name));
  parent.insertBefore(home, older || null);
  return home;
};
// A button that is drawn again between press and release gets no click: what changes waits until then.
let pressed = 0;
const held = [];
const release = () => {
  clearTimeout(pressed);
  pressed = 0;
  for (const patch of held.splice(0)) put(patch);
};
root.addEventListener('pointerdown', (event) => {
  if (event.button || !event.target.closest('button, summary, a, label, svg')) return;
  clearTimeout(pressed);
  pressed = setTimeout(release, 20000); // if the release is never reported
  // The click follows the release.
  for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => setTimeout(release), {once: true, capture: true});
}, true);
const put = (patch) => {
  if (pressed) return held.push(patch);
  if ((seen.get(patch.name) || 0) >= patch.at) return;
  seen.set(patch.name, patch.at);
  if (patch.name === 'state') return switchOn(JSON.parse(patch.html));
  let home = region(patch.name);
  if (patch.html === null) return home?.remove();
  home ||= homeOf(patch);
  const active = home.contains(document.activeElement) ? document.activeElement : null;
  const typed = all('.rn-keep', home).filter((box) => box.value !== box.defaultValue).map((box) => [box.id, box.value]);
  const scrolled = home.scrollTop;
  home.innerHTML = patch.html;
  for (const fold of all('details[id]', home)) if (opened.has(fold.id)) fold.open = opened.get(fold.id);
  for (const [id, value] of typed) {
    const box = home.querySelector(`#${CSS.escape(id)}`);
    if (box) box.value = value;
  }
  home.scrollTop = scrolled;
  if (active) (active.id && home.querySelector(`#${CSS.escape(active.id)}`) || same(home, active))?.focus();
};
// The control that stands for one that was drawn again.
const same = (home, active) => all(active.tagName, home).find((one) =>
  ['act', 'change', 'step', 'number', 'turn', 'column', 'cited', 'quote'].every((key) => one.dataset[key] === active.dataset[key])
  && one.name === active.name && (active.dataset.act || active.dataset.change));
const switchOn = (state) => {
  for (const name of ['ready', 'loading', 'asking', 'turns']) root.dataset[name] = state[name];
  const box = find('.rn-question-box');
  box.disabled = !(state.ready || state.loading);
  box.placeholder = box.disabled ? 'Add a document first' : 'What do you want to know?';
  find('.rn-context').value = state.context;
};
const say = (text) => { find('[data-said]').textContent = text; };
let hiding;
const notice = (text) => {
  const box = find('[data-notice]');
  box.textContent = text;
  box.hidden = !text;
  clearTimeout(hiding);
  hiding = setTimeout(() => { box.hidden = true; }, 12000);
};
const save = ({name, text}) => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], {type: 'text/plain;charset=utf-8'}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
const take = (reply) => {
  if (reply.epoch && reply.epoch !== epoch) {
    if (epoch) for (const turn of all('.rn-turn')) turn.remove();
    epoch = reply.epoch;
    since = held.length = 0;
    seen.clear();
  }
  for (const patch of reply.patches || []) put(patch);
  since = Math.max(since, reply.at || 0);
  if (reply.notice) notice(reply.notice);
  if (reply.said) say(reply.said);
  if (reply.file) save(reply.file);
  if ('found' in reply) find('[data-found]').textContent = reply.found;
  if (reply.busy) look(reply.pause);
  return reply;
};
const send = (action, payload = {}) => server.act({token, epoch, since: `${since}`, action, payload});
// As long as something goes on, ask for what changed; once more after it has ended.
const look = async (pause) => {
  wanted = true; // also for a loop that is about to end
  if (looking) return;
  looking = true;
  root.dataset.looking = 'true';
  for (let quiet = 0; quiet < 2 && element.isConnected;) {
    await wait(quiet ? 300 : pause);
    try {
      const reply = await send('look');
      pause = reply.pause || pause;
      quiet = reply.busy || wanted ? 0 : quiet + 1;
      wanted = false;
      take(reply);
    } catch { await wait(3000); }
  }
  looking = false;
  delete root.dataset.looking;
};
// Actions after which what was opened on the page comes into view.
const FOLLOWED = ['open', 'line', 'passage', 'chunk', 'search'];
const act = async (action, payload = {}) => {
  notice('');
  root.dataset.waiting = 'true';
  try {
    const reply = take(await send(action, payload));
    if (FOLLOWED.includes(action)) reveal();
    return reply;
  } catch {
    notice('The server does not answer. Check the connection and try again.');
    return {notice: true};
  } finally { delete root.dataset.waiting; }
};

const uploadAll = async (action, list) => {
  const paths = [];
  root.dataset.uploading = 'true';
  try {
    for (const file of list) paths.push((await upload(file)).path);
  } catch (error) {
    notice(`The upload failed: ${error?.message || 'the file may be too large, or of a type that cannot be read'}.`);
  } finally { delete root.dataset.uploading; }
  if (paths.length) await act(action, {paths});
};
root.addEventListener('dragover', (event) => event.preventDefault());
root.addEventListener('drop', (event) => {
  event.preventDefault();
  if (event.dataTransfer?.files.length) uploadAll('documents', event.dataTransfer.files);
});

const unfold = (inner) => {
  for (let fold = inner.closest('details'); fold; fold = fold.parentElement.closest('details')) fold.open = true;
};
const open = (name) => {
  const fold = find(`#rn-section-${name}`);
  unfold(fold);
  fold.scrollIntoView({block: 'start'});
  fold.querySelector('summary').focus({preventScroll: true});
};
const cite = (chip) => {
  const chunk = find(`#${CSS.escape(chip.dataset.to)}`);
  if (!chunk) return;
  for (const shown of all('.rn-answers .rn-shown')) shown.classList.remove('rn-shown');
  chunk.classList.add('rn-shown');
  unfold(chunk.querySelector('details'));
  // Of the quotes in the chunk only the one that was clicked stands out.
  const clicked = chunk.querySelector(`mark[data-quote="${chip.dataset.quote}"]`);
  for (const quote of all('mark', chunk)) quote.classList.toggle('rn-other', Boolean(clicked) && quote !== clicked);
  (clicked || chunk.querySelector('mark') || chunk).scrollIntoView({block: 'nearest'});
};
const toRow = (link) => {
  const row = find(link.getAttribute('href'));
  if (!row) return;
  unfold(row);
  row.tabIndex = -1;
  row.focus();
};
const zoom = (step) => {
  const box = find('.rn-drawing-box'), scales = ['1', '1.5', '2', '3'];
  const at = scales.indexOf(box.style.getPropertyValue('--rn-zoom') || '1') + step;
  box.style.setProperty('--rn-zoom', scales[Math.min(Math.max(at, 0), scales.length - 1)]);
};
// Answers and page stand side by side, and each scrolls for itself.
const hasHalves = () => getComputedStyle(view).overflowY === 'auto';
// What was opened on the page comes wholly into view within its half; nothing else moves if there is room.
const reveal = () => {
  const shown = find('.rn-gold-box[d]:not([d=""]), .rn-sheet .rn-gold, .rn-sheet .rn-shown');
  if (!shown) return;
  const home = view.getBoundingClientRect(), line = find('.rn-pager-line');
  const isBelow = getComputedStyle(line).position === 'sticky';
  const top = Math.max(home.top, 0) + (hasHalves() && isBelow ? line.offsetHeight : 0);
  const bottom = hasHalves() ? Math.min(home.bottom, innerHeight) : innerHeight;
  const box = () => shown.getBoundingClientRect();
  const isHidden = () => box().top < top || box().bottom > bottom;
  if (hasHalves() && isHidden()) view.scrollTop += box().top - top - Math.max(0, bottom - top - box().height) / 3;
  if (isHidden()) shown.scrollIntoView({block: 'center'});
};
// If that leads out of sight of what was pressed, a button of the page leads back to it.
const back = find('.rn-back');
let origin, height;
const sight = new IntersectionObserver(([seen]) => {
  back.hidden = seen.isIntersecting;
  return back.hidden ? sight.disconnect() : back.focus({preventScroll: true});
});
const leave = (button, top) => {
  height = top;
  sight.disconnect();
  sight.observe(origin = button);
  back.textContent = button.closest('.rn-answers') ? 'Back to the answer' : 'Back to the list';
};
const goBack = () => {
  const home = (origin.isConnected ? origin : same(root, origin)) || find('.rn-answers');
  back.hidden = true;
  unfold(home);
  home.focus({preventScroll: true});
  home.scrollIntoView({block: 'nearest'});
  scrollBy(0, home.getBoundingClientRect().top - height); // where it stood when it was pressed
};
const press = async (button) => {
  const {act: action, open: section, confirm: sure, ...sent} = button.dataset;
  if (sure && !confirm(sure)) return;
  if (section) open(section);
  if (!action) return;
  if (action === 'ask') return ask(sent.question, false);
  const {top} = button.getBoundingClientRect();
  for (const chosen of all('[aria-current]')) chosen.removeAttribute('aria-current');
  if (action === 'open') button.setAttribute('aria-current', 'true');
  await act(action, sent);
  if (FOLLOWED.includes(action) && !view.contains(button)) leave(button, top);
};
const ask = async (question, followUp) => {
  const box = find('.rn-question-box');
  say('Answering');
  if (!hasHalves()) find('.rn-ask').scrollIntoView(); // the answers stand below it, out of sight on a phone
  const reply = await act('ask', {question, follow_up: followUp});
  if (!reply.notice && box.value === question) box.value = '';
  find('.rn-answers').scrollTop = 0;
};

// A menu closes as soon as something else is clicked, and with Escape.
root.addEventListener('click', (event) => {
  for (const menu of all('.rn-menu[open]')) if (!menu.contains(event.target)) menu.open = false;
}, true);
root.addEventListener('click', (event) => {
  const at = (selector) => event.target.closest(selector);
  let hit;
  if ((hit = at('button.rn-chip'))) return cite(hit);
  if ((hit = at('[data-copy]'))) return navigator.clipboard?.writeText(hit.dataset.copy).then(() => say('Copied'));
  if ((hit = at('[data-zoom]'))) return zoom(Number(hit.dataset.zoom));
  if ((hit = at('[data-focus]'))) return find(hit.dataset.focus)?.focus();
  if ((hit = at('.rn-plot a[href]'))) { event.preventDefault(); return toRow(hit); }
  if (at('.rn-mark-here')) return mark();
  if (at('.rn-back')) return goBack();
  if ((hit = at('[data-act], [data-open]'))) return press(hit);
  if ((hit = at('svg[data-strategy]'))) {
    const box = hit.getBoundingClientRect();
    return act('place', {share: `${Math.max(0, Math.round(1000 * (event.clientX - box.left) / box.width))}`});
  }
  if (at('.rn-sheet') && getSelection().isCollapsed) pick(event);
});
root.addEventListener('change', (event) => {
  const box = event.target, {change, upload: action, ...sent} = box.dataset;
  if (action) { uploadAll(action, [...box.files]); box.value = ''; }
  else if (change) act(change, {...sent, name: box.name, value: box.value, checked: box.checked === true});
});
root.addEventListener('input', (event) => {
  if (event.target.type === 'range') event.target.nextElementSibling.value = event.target.value;
});
root.addEventListener('toggle', (event) => { if (event.target.id) opened.set(event.target.id, event.target.open); }, true);
root.addEventListener('submit', async (event) => {
  const form = event.target, action = form.dataset.submit;
  event.preventDefault();
  const sent = {...form.dataset, ...Object.fromEntries(new FormData(form))};
  for (const box of all('[type=checkbox]', form)) sent[box.name] = box.checked;
  if (action === 'ask') return ask(sent.question, sent.follow_up);
  if (action === 'models') {
    form.api_key.value = '';
    form.closest('details').open = false;
  }
  const reply = await act(action, sent);
  if (sent.api_key && !reply.notice) form.api_key.placeholder = 'Kept for this tab; type another key to replace it';
});
root.addEventListener('keydown', (event) => {
  const box = event.target, menu = box.closest('.rn-menu[open]');
  if (menu && event.key === 'Escape') {
    menu.open = false;
    menu.querySelector('summary').focus();
  }
  if (box.matches('.rn-question-box, .rn-review-text') && event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    box.form.requestSubmit();
    if (box.matches('.rn-review-text')) box.blur();
  }
  if (box.matches('.rn-review-text') && event.key === 'Escape') box.blur();
  if (event.key === 'Escape' && !back.hidden && view.contains(box)) goBack();
  const step = {ArrowLeft: '-1', ArrowRight: '1'}[event.key];
  if (step && box.matches('.rn-sheet') && box.scrollWidth <= box.clientWidth) act('turn', {step});
});
const onDocument = (type, react) => {
  const listener = (event) => (element.isConnected ? react(event) : document.removeEventListener(type, listener));
  document.addEventListener(type, listener);
};
// A accepts, R rejects, E edits the question that is reviewed, unless something is typed.
const KEYS = {a: '[type=submit]', r: '[data-act=reject]', e: '[data-focus]'};
onDocument('keydown', (event) => {
  const card = find('.rn-card'), key = KEYS[event.key.toLowerCase()];
  if (!card?.offsetParent || !key || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest('input, textarea, select, [contenteditable]')) return;
  event.preventDefault();
  card.querySelector(key).click();
});

// The page: the chunk under the mouse is lit, here and among the cards.
const under = (event) => document.elementsFromPoint(event.clientX, event.clientY)
  .map((one) => one.closest?.('[data-k]')).find((one) => one && root.contains(one));
const numbers = (one) => (one?.dataset.k || '').split(' ').filter(Boolean);
const light = (chosen) => all('[data-k]').forEach((one) =>
  one.classList.toggle('rn-lit', numbers(one).some((number) => chosen.includes(number))));
view.addEventListener('mousemove', (event) => light(numbers(under(event))));
view.addEventListener('mouseleave', () => light([]));
view.addEventListener('focusin', (event) => light(numbers(event.target.closest('.rn-piece'))));
const pick = (event) => {
  const card = find(`#rn-piece-${numbers(under(event))[0]}`);
  if (!card) return;
  for (const one of all('[data-k]', view)) one.classList.toggle('rn-shown', numbers(one).includes(card.dataset.k));
  card.querySelector('details').open = true;
};
// On the printed page a drag ends at the nearest letter: between the lines no text lies under the mouse,
// and the browser would go on to some other line. A line that begins further up than the one before
// begins another column of text. Beside the text, a drag stays in its column and enters no further line.
const linesOf = (page) => {
  let column = 0, before;
  return all('.rn-letters text', page).map((text) => {
    const box = text.getBoundingClientRect();
    if (before && box.bottom < before.bottom - box.height) column++;
    before = box;
    return {text, box, column, top: box.top + box.height / 5}; // no letter is as high as its line
  });
};
const off = (low, high, at) => Math.max(low - at, at - high, 0);
const nearest = (page, {clientX: x, clientY: y}) => {
  const start = drag?.text.getBoundingClientRect().top, lines = linesOf(page).map((line) => {
    const {box, column, top} = line, down = off(top, box.bottom, y), across = off(box.left, box.right, x);
    if (!drag) return {...line, rank: [Math.hypot(down, across), 0]};
    const isBeyond = start < y ? top > y : box.bottom < y;
    return {...line, rank: down + across ? [column === drag.column ? 1 : 2, isBeyond, down, across] : [0]};
  });
  return lines.reduce((best, line) => {
    const at = line.rank.findIndex((value, place) => value !== best.rank[place]);
    return line.rank[at] < best.rank[at] ? line : best;
  });
};
const letterAt = ({text, box}, x) => {
  const {x: start, width} = text.getBBox();
  const middles = [...Array(text.getNumberOfChars()).keys()].map((at) => {
    const letter = text.getExtentOfChar(at);
    return box.left + (letter.x + letter.width / 2 - start) * box.width / width;
  });
  const distances = middles.map((middle) => Math.abs(middle - x)), at = distances.indexOf(Math.min(...distances));
  return at + Number((x > middles[at]) === (middles[0] <= middles.at(-1))); // from right to left, before it
};
let drag = null;
root.addEventListener('mousedown', (event) => {
  const page = event.target.closest('.rn-page');
  drag = null;
  if (!page?.querySelector('.rn-letters text') || event.button || event.detail > 1 || event.shiftKey) return;
  event.preventDefault();
  find('.rn-sheet').focus({preventScroll: true});
  getSelection().removeAllRanges();
  const line = nearest(page, event);
  drag = {...line, page, offset: letterAt(line, event.clientX)};
});
onDocument('mousemove', (event) => {
  if (!drag?.page.isConnected || !(event.buttons & 1)) return void (drag = null);
  const line = nearest(drag.page, event), home = view.getBoundingClientRect();
  drag.column = line.column;
  getSelection().setBaseAndExtent(drag.text.firstChild, drag.offset, line.text.firstChild, letterAt(line, event.clientX));
  if (off(home.top, Math.min(home.bottom, innerHeight), event.clientY)) line.text.scrollIntoView({block: 'nearest', inline: 'nearest'});
});
// A button follows what is selected and sends which characters of the document these are. Every piece
// of text on the page says its offset; the rest is counted as Python does.
const at = (node, offset) => {
  const home = (node.nodeType === 3 ? node.parentElement : node).closest?.('[data-at]');
  if (!home || !view.contains(home)) return null;
  const range = document.createRange();
  range.setStart(home, 0);
  range.setEnd(node, offset);
  return Number(home.dataset.at) + [...range.toString()].length;
};
const within = () => {
  const sheet = find('.rn-sheet'), chosen = getSelection();
  if (!sheet || !chosen.rangeCount || chosen.isCollapsed) return null;
  const range = chosen.getRangeAt(0);
  const held = all('[data-at]', sheet).filter((one) => range.intersectsNode(one));
  if (!held.length) return null;
  const last = held.at(-1);
  const start = at(range.startContainer, range.startOffset) ?? at(held[0], 0);
  const end = at(range.endContainer, range.endOffset) ?? at(last, last.childNodes.length);
  return start < end ? {range, start, end} : null;
};
onDocument('selectionchange', () => {
  const here = find('.rn-mark-here'), chosen = here && within();
  if (!here) return;
  here.hidden = !chosen;
  if (!chosen) return;
  const home = here.parentElement.getBoundingClientRect();
  const last = [...chosen.range.getClientRects()].pop() || home;
  here.style.top = `${last.bottom - home.top + 6}px`;
  const most = home.width - here.offsetWidth;
  here.style.left = `${Math.max(0, Math.min(most, last.right - home.left - here.offsetWidth))}px`;
});
root.addEventListener('mousedown', (event) => {
  if (event.target.closest('.rn-mark-here')) event.preventDefault();
});
const mark = async () => {
  const chosen = within();
  if (!chosen) return;
  const sent = {document: find('.rn-sheet').dataset.document, start: `${chosen.start}`, end: `${chosen.end}`,
    text: chosen.range.toString()};
  getSelection().removeAllRanges();
  await act('mark', sent);
  find('#rn-label-question')?.focus();
};

act('arrive', {known});
