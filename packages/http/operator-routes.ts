import { text } from './schemas.ts';

/** The part of a route's schema that every operator route shares. */
export const adminRoute = { tags: ['operators'], security: [{ adminToken: [] }] };

/** An application as its operator names it. */
export const AppId = text(1, 256);
