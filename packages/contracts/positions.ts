/**
 * CAN data and sensor values whose key matches tell where a vehicle is. A regular expression for JavaScript and PostgreSQL
 * alike, to be used without regard to upper and lower case.
 */
export const positionKeyPattern = 'lat(itude)?|lon(gitude)?|lng|gps|gnss|position|heading';
