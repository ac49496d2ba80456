/** Iterates over all pages of a list. */
import { ApiError, UnexpectedAnswerError } from './errors.js';

/** Called with the error that ended a list, before the list starts over. */
export type OnRestart = (error: ApiError) => void;

export interface Page<T> {
  items: T[];
  /** The cursor of the next page, if there is one. */
  next: string | undefined;
}

/**
 * Yields every item once. A page that names itself as the next one throws an UnexpectedAnswerError.
 *
 * When a cursor is no longer valid, its error is thrown. With `onRestart`, that function is called with the
 * error instead, and the list starts over without the items that were already yielded. This keeps the ids of
 * all of them in memory; without `onRestart`, only those of the previous page are kept. If the list yields
 * nothing new before the next such error, the error is thrown.
 */
export async function* each<T extends { id: string }>(
  fetchPage: (cursor: string | undefined) => Promise<Page<T>>,
  onRestart: OnRestart | undefined,
): AsyncGenerator<T, void, undefined> {
  let seen = new Set<string>();
  let cursor: string | undefined;
  let foundNew = true;
  do {
    let page: Page<T>;
    try {
      page = await fetchPage(cursor);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'invalid_cursor') throw error;
      if (cursor === undefined || !onRestart || !foundNew) throw error;
      onRestart(error);
      foundNew = false;
      cursor = undefined;
      page = await fetchPage(undefined);
    }
    for (const item of page.items) {
      if (seen.has(item.id)) continue;
      seen.add(item.id);
      foundNew = true;
      yield item;
    }
    if (page.next !== undefined && page.next === cursor)
      throw new UnexpectedAnswerError('a page names itself as the next one');
    if (!onRestart) seen = new Set(page.items.map(({ id }) => id));
    cursor = page.next;
  } while (cursor !== undefined);
}
