import type { ComponentChildren } from 'preact';

function icon(children: ComponentChildren) {
  return function Icon({ size = 20 }: { size?: number }) {
    return (
      <svg
        width={size}
        height={size}
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        stroke-width="1.8"
        stroke-linecap="round"
        stroke-linejoin="round"
        aria-hidden="true"
      >
        {children}
      </svg>
    );
  };
}

export const MapIcon = icon(
  <>
    <path d="M3.5 6.2 9 4l6 2.2L20.5 4v13.8L15 20l-6-2.2L3.5 20z" />
    <path d="M9 4v13.8M15 6.2V20" />
  </>,
);
export const PreferencesIcon = icon(
  <>
    <circle cx="12" cy="8.5" r="3.7" />
    <path d="M4.8 20c.9-3.6 3.8-5.4 7.2-5.4s6.3 1.8 7.2 5.4" />
  </>,
);
export const WarningIcon = icon(
  <>
    <path d="M12 4 2.8 19.5h18.4z" />
    <path d="M12 10v4M12 16.8h.01" />
  </>,
);
export const Logo = ({ size = 28 }: { size?: number }) => (
  <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="8" fill="#3b5bdb" />
    <path d="M8 22a10 10 0 1 1 16 0" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" />
    <path d="M16 17l5-6" stroke="#fff" stroke-width="3" stroke-linecap="round" />
    <circle cx="16" cy="18" r="2.5" fill="#fff" />
  </svg>
);
