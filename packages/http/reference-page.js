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

// The OpenAPI 3.1 resolver normalizes the whole document for each operation. The 3.0 resolver handles the references of
// this document, too, in a tenth of the time.
const resolveAs30 = ({ fn: { resolveSubtree } }) => ({
  fn: { resolveSubtree: (document, ...rest) => resolveSubtree({ ...document, openapi: '3.0.3' }, ...rest) },
});
const swaggerUi = window.SwaggerUIBundle;
window.SwaggerUIBundle = Object.assign(
  (options) => swaggerUi({ ...options, plugins: [...options.plugins, resolveAs30] }),
  swaggerUi,
);
