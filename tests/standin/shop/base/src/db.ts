export interface Row {
  [column: string]: unknown;
}

export interface Database {
  query(sql: string, values?: unknown[]): Promise<Row[]>;
}

let current: Database | undefined;

export function connect(database: Database): void {
  current = database;
}

export function db(): Database {
  if (!current) {
    throw new Error("connect() first");
  }
  return current;
}
