import Type from 'typebox';
import { text } from './schemas.ts';

/** An application as its operator names it. */
export const AppId = text(1, 256, { description: 'application', examples: ['app-7f3a'] });

/** The most rows of a page; a list continues with the query parameter `after`, the last id of the page before. */
export const pageLimit = Type.Integer({ minimum: 1, maximum: 10_000, default: 1000, description: 'rows to return' });
