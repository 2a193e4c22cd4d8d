/** A page of a list, and how many items the whole list has. */
export interface Page<Item> {
  items: Item[];
  total: number;
}
