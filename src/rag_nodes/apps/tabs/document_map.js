element.addEventListener('click', (event) => {
  const strip = event.target.closest('svg[data-strategy]');
  if (!strip) return;
  const box = strip.getBoundingClientRect();
  const share = Math.round(1000 * (event.clientX - box.left) / box.width);
  trigger('click', {share: `${Math.max(0, share)}`});
});
