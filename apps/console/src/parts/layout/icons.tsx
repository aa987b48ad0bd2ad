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

export const MapIcon = icon(<path d="M3.5 6.2 9 4l6 2.2L20.5 4v13.8L15 20l-6-2.2L3.5 20z M9 4v13.8M15 6.2V20" />);
export const MoreIcon = icon(<path d="M4 7h16M4 12h16M4 17h16" />);
export const ProfileIcon = icon(
  <>
    <circle cx="12" cy="8.5" r="3.7" />
    <path d="M4.8 20c.9-3.6 3.8-5.4 7.2-5.4s6.3 1.8 7.2 5.4" />
  </>,
);
export const AuditIcon = icon(<path d="M6 3.5h9l3.5 3.5v13.5H6z M9.2 12.4l2 2 3.8-4M9 17.2h6" />);
export const WarningIcon = icon(<path d="M12 4 2.8 19.5h18.4z M12 10v4M12 16.8h.01" />);
export const AlarmsIcon = icon(<path d="M6 16.5v-5.8a6 6 0 0 1 12 0v5.8l1.6 2H4.4z M10 21h4" />);
export const BookingsIcon = icon(
  <>
    <rect x="4" y="5.5" width="16" height="14.5" rx="2" />
    <path d="M4 10h16M8.5 3.5v4M15.5 3.5v4M8 14h5" />
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
export const SearchIcon = icon(
  <>
    <circle cx="11" cy="11" r="6.5" />
    <path d="m16 16 4.5 4.5" />
  </>,
);
export const PinIcon = icon(
  <>
    <path d="M12 21s-6.5-6-6.5-11a6.5 6.5 0 0 1 13 0c0 5-6.5 11-6.5 11z" />
    <circle cx="12" cy="10" r="2.3" />
  </>,
);
export const CloseIcon = icon(<path d="M6 6l12 12M18 6 6 18" />);
export const FollowIcon = icon(
  <>
    <circle cx="12" cy="12" r="6" />
    <path d="M12 2.5V6M12 18v3.5M2.5 12H6M18 12h3.5" />
  </>,
);
export const RouteIcon = icon(
  <>
    <circle cx="6" cy="18.5" r="2.2" />
    <circle cx="18" cy="5.5" r="2.2" />
    <path d="M8.2 18.5H15a3.3 3.3 0 0 0 0-6.6H9a3.3 3.3 0 0 1 0-6.4h6.8" />
  </>,
);
export const TrailIcon = icon(
  <>
    <circle cx="12" cy="12" r="8.5" />
    <path d="M12 7v5l3.5 2" />
  </>,
);
export const FitIcon = icon(<path d="M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5" />);
export const ListIcon = icon(<path d="M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01" />);
export const VehiclesIcon = icon(
  <path d="M4 16.5v-4l1.8-5A2 2 0 0 1 7.7 6h8.6a2 2 0 0 1 1.9 1.5l1.8 5v4z M4 12.5h16M6 16.5V19M18 16.5V19M7.5 14.5h.01M16.5 14.5h.01" />,
);
export const PipelineIcon = icon(<path d="M3 12h4l2.5-6 5 12 2.5-6h4" />);
export const DevicesIcon = icon(
  <>
    <rect x="4" y="9.5" width="16" height="9.5" rx="2" />
    <path d="M8 14.2h.01M12 14.2h4M8.5 9.5V5.5M5.8 4.6a4.5 4.5 0 0 1 5.4 0" />
  </>,
);
export const AccountsIcon = icon(
  <>
    <circle cx="9" cy="8.5" r="3.2" />
    <path d="M3.2 19c.7-3.1 3-4.6 5.8-4.6s5.1 1.5 5.8 4.6M15.5 5.6a3.2 3.2 0 0 1 0 5.8M17.6 14.9c1.7.7 2.8 2 3.2 4.1" />
  </>,
);
export const ReportsIcon = icon(<path d="M5 3.5h10l4 4v13H5z M15 3.5v4h4 M8.5 17v-3.5M12 17v-6M15.5 17v-2" />);
export const LockIcon = icon(<path d="M6 10.5h12v9H6z M8.5 10.5V8a3.5 3.5 0 0 1 7 0v2.5" />);
export const ExportsIcon = icon(<path d="M12 3.5v11M7.5 10.5 12 15l4.5-4.5M4 16v3.5h16V16" />);
export const IntegrationsIcon = icon(<path d="M9 3.5v5M15 3.5v5M6.5 8.5h11v3a5.5 5.5 0 0 1-11 0z M12 17v3.5" />);
