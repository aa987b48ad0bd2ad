import type { Map as MapLibreMap } from 'maplibre-gl';
import type { MapPalette } from './palette.ts';

const pixelRatio = 2;
/** Of a marker with its border, CSS pixels; the shapes are drawn on a field of 16. */
const size = 26;
const margin = 3;

type Paint = (context: CanvasRenderingContext2D, colour: string, surface: string) => void;

/** Fills a shape with a border around it that keeps it apart from the map. */
function fill(context: CanvasRenderingContext2D, shape: Path2D, colour: string, surface: string): void {
  context.lineJoin = 'round';
  context.lineWidth = 2.4;
  context.strokeStyle = surface;
  context.stroke(shape);
  context.fillStyle = colour;
  context.fill(shape);
}

/** The same shapes as in parts/vehicle-state.tsx. */
const paints: Readonly<Record<'moving' | 'parked' | 'silent' | 'alarm', Paint>> = {
  moving: (context, colour, surface) => fill(context, new Path2D('M8 0 14 14.6 8 11.6 2 14.6z'), colour, surface),
  parked(context, colour, surface) {
    const shape = new Path2D();
    shape.roundRect(2, 2, 12, 12, 3);
    fill(context, shape, colour, surface);
    context.strokeStyle = surface;
    context.lineWidth = 1.7;
    context.stroke(new Path2D('M6.3 11.8V4.6h2.3a2.2 2.2 0 0 1 0 4.4H6.3'));
  },
  silent(context, colour, surface) {
    fill(context, new Path2D('M8 1.2a6.8 6.8 0 1 1 0 13.6 6.8 6.8 0 0 1 0-13.6'), surface, surface);
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.setLineDash([3.2, 2.4]);
    context.stroke(new Path2D('M8 2.4a5.6 5.6 0 1 1 0 11.2 5.6 5.6 0 0 1 0-11.2'));
    context.fillStyle = colour;
    context.fill(new Path2D('M8 6.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6'));
  },
  alarm(context, colour, surface) {
    fill(context, new Path2D('M8 0.8 15.6 14.6H.4z'), colour, surface);
    context.strokeStyle = surface;
    context.lineCap = 'round';
    context.lineWidth = 1.8;
    context.stroke(new Path2D('M8 5.8v4.2M8 12.3v.1'));
  },
};

/** Draws the markers of the states in the colours of the page, and gives them to the map by the names of the states. */
export function addMarkerImages(map: MapLibreMap, palette: MapPalette): void {
  for (const [state, paint] of Object.entries(paints)) {
    const canvas = document.createElement('canvas');
    canvas.width = size * pixelRatio;
    canvas.height = size * pixelRatio;
    const context = canvas.getContext('2d');
    if (!context) continue;
    const scale = ((size - 2 * margin) / 16) * pixelRatio;
    context.translate(margin * pixelRatio, margin * pixelRatio);
    context.scale(scale, scale);
    paint(context, palette[state as keyof typeof paints], palette.surface);
    map.addImage(state, context.getImageData(0, 0, canvas.width, canvas.height), { pixelRatio });
  }
}
