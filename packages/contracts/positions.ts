/** Words for a position in the keys of CAN data and sensor values. */
const positionWords =
  'lat(itude)?|lon(gitude)?|lng|gps|gnss|position|heading|coordinates|location|locatedat|address|geofence';
/** Keys from which a position can be derived, and keys of free text from serial ports. */
const landmarkWords =
  'cell.?id|area.?code|(^|[._])(cells?|lac|cid|poi|network)$|network[.]|beacon|wifi|ssid|^inr(egions|ids)$|destination|routeline|^serial_(text|hex)';

/**
 * Matches the keys of CAN data and sensor values that disclose a position. A regular expression for JavaScript and
 * PostgreSQL, to be matched ignoring case.
 */
export const positionKeyPattern = `${positionWords}|${landmarkWords}`;
