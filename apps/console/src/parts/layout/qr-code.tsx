import './copy.css';
import { useMemo } from 'preact/hooks';
import { encode } from 'uqr';

/** Modules around the code that must stay white (ISO/IEC 18004). */
const quietModules = 4;

/** Draws text as a QR code, dark on white in any theme, because some scanners cannot read inverted codes. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { size, path } = useMemo(() => {
    const code = encode(text, { ecc: 'M', border: quietModules });
    const dark = code.data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
    return { size: code.size, path: dark.join('') };
  }, [text]);
  return (
    <svg class="qr-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
