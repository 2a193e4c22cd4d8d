/** A page of a list, and the number of items in the whole list. */
export interface ResultPage<Item> {
  items: Item[];
  total: number;
}
