// bull-board leaves these buttons without an accessible name. Its class names end in a hash.
const names = {
  'button[aria-haspopup="menu"]': 'Actions',
  '[class*="actions-"] > li:nth-child(1) > button': 'Redis details',
  '[class*="actions-"] > li:nth-child(2) > button': 'Full screen',
  '[class*="actions-"] > li:nth-child(3) > button': 'Settings',
  'button[class*="copyBtn"]': 'Copy',
  'button[class*="collapseBtn"]': 'Show or hide details',
};

new MutationObserver(() => {
  for (const [selector, name] of Object.entries(names)) {
    for (const button of document.querySelectorAll(`${selector}:not([aria-label])`)) {
      button.setAttribute('aria-label', name);
    }
  }
}).observe(document.body, { childList: true, subtree: true });
