// Swagger UI gives the fields of parameters no name; screen readers read that of the parameter.
new MutationObserver(() => {
  for (const row of document.querySelectorAll('tr[data-param-name]')) {
    for (const field of row.querySelectorAll(':is(select, input, textarea):not([aria-label])')) {
      field.setAttribute('aria-label', row.dataset.paramName);
    }
  }
}).observe(document.body, { childList: true, subtree: true });
