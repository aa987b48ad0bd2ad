/** The formats in which other systems forward what their devices said; packages/codec decodes them. */
export const sourceFormatNames = ['traccar', 'flespi', 'tesla', 'owntracks', 'osmand'] as const;
export type SourceFormatName = (typeof sourceFormatNames)[number];
