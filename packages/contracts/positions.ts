/**
 * Matches the keys of CAN data and sensor values that disclose a position. A regular expression for JavaScript and
 * PostgreSQL, to be matched ignoring case.
 */
export const positionKeyPattern = 'lat(itude)?|lon(gitude)?|lng|gps|gnss|position|heading';
