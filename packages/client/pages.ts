import { answerOf, type Outcome } from './failures.ts';

/** Finds the next page (RFC 8288); the platform names it as an absolute path. */
function nextLink({ headers }: Response): string | undefined {
  return /<(\/[^>]*)>\s*;\s*rel="next"/.exec(headers.get('link') ?? '')?.[1];
}

/** Reads page after page to the end. @param read reads the first page, or the one of a link. @throws OdographFailure */
export async function* followPages<Page>(read: (link?: string) => Promise<Outcome<Page>>): AsyncGenerator<Page> {
  let link: string | undefined;
  do {
    const outcome = read(link);
    yield await answerOf(outcome);
    link = nextLink((await outcome).response);
  } while (link !== undefined);
}

/** The items of a page, which is a list or has members that are lists. */
export type ItemOf<Page> = Page extends readonly (infer Item)[]
  ? Item
  : { [Member in keyof Page]-?: Page[Member] extends readonly (infer Item)[] ? Item : never }[keyof Page];

/** Lists the items of a page. */
export function itemsOf<Page extends object>(page: Page): ItemOf<Page>[] {
  return Array.isArray(page) ? page : Object.values(page).filter(Array.isArray).flat();
}
