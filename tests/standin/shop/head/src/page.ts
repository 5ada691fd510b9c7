/** Cuts a list into pages. Pages are numbered from 1. */
export function page<T>(items: T[], number: number, size: number): T[] {
  const start = (number - 1) * size;
  return items.slice(start, start + size);
}

export function pages(count: number, size: number): number {
  return Math.floor(count / size);
}

export function lastPage<T>(items: T[], size: number): T[] {
  const d = pages(items.length, size);
  return page(items, d, size);
}
