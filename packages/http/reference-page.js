// Swagger UI leaves these fields without an accessible name.
const nameOf = (field) => {
  if (field.id === 'servers') return 'Server';
  if (field.matches('.examples-select-element')) return 'Example';
  return field.closest('tr[data-param-name]')?.dataset.paramName;
};

new MutationObserver(() => {
  for (const field of document.querySelectorAll('.swagger-ui :is(select, input, textarea):not([aria-label])')) {
    const name = nameOf(field);
    if (name !== undefined) field.setAttribute('aria-label', name);
  }
}).observe(document.body, { childList: true, subtree: true });
