export interface ResultPage<Item> {
  items: Item[];
  total: number;
}
