/** A page of a list, and the number of items in the whole list. */
export interface Page<Item> {
  items: Item[];
  total: number;
}
