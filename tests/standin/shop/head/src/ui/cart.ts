import { db } from "../db";
import { Order, ordersOf } from "../orders";

export function money(cents: number): string {
  const sign = cents < 0 ? "-" : "";
  const value = Math.abs(cents);
  return `${sign}${Math.floor(value / 100)}.${String(value % 100).padStart(2, "0")}`;
}

export function line(order: Order): string {
  return `#${order.id}  ${money(order.cents)}`;
}

export async function cart(userId: number): Promise<string> {
  const orders = await ordersOf(userId);
  return orders.map(line).join("\n");
}

export async function total(userId: number): Promise<string> {
  const rows = await db().query("SELECT SUM(cents) AS cents FROM orders WHERE user_id = $1", [userId]);
  return money(Number(rows[0].cents));
}
