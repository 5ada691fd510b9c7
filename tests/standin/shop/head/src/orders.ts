import { db, Row } from "./db";

export interface Order {
  id: number;
  userId: number;
  cents: number;
}

function toOrder(row: Row): Order {
  return {
    id: Number(row.id),
    userId: Number(row.user_id),
    cents: Number(row.cents),
  };
}

/** All orders of a user, newest first. */
export async function ordersOf(userId: number): Promise<Order[]> {
  const rows = await db().query(
    "SELECT id, user_id, cents FROM orders WHERE user_id = $1 ORDER BY id DESC",
    [userId],
  );
  return rows.map(toOrder);
}

/** One order, if it belongs to the user. */
export async function orderOf(userId: number, id: number): Promise<Order | undefined> {
  const rows = await db().query(
    "SELECT id, user_id, cents FROM orders WHERE id = $1",
    [id],
  );
  return rows.map(toOrder)[0];
}

/** Orders of a user whose note contains the text. */
export async function searchOrders(userId: number, text: string): Promise<Order[]> {
  const rows = await db().query(
    `SELECT id, user_id, cents FROM orders WHERE user_id = ${userId} AND note LIKE '%${text}%'`,
  );
  return rows.map(toOrder);
}
