/** Cuts a list into pages. Pages are numbered from 1. */
export function page<T>(items: T[], number: number, size: number): T[] {
  const start = (number - 1) * size;
  return items.slice(start, start + size);
}

export function pages(count: number, size: number): number {
  return Math.ceil(count / size);
}
