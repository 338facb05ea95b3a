function price(order, items) {
  let sum = order;
  for (let item = 0; item < items; item++) {
    sum = (sum * 31 + (item % 7)) % 65521;
  }
  return sum;
}

function total(calls) {
  let sum = 0;
  for (let call = 0; call < calls; call++) {
    sum += price(call, 100);
  }
  return sum;
}

let all = 0;
for (let round = 0; round < 400; round++) all += total(1000);
console.log(all);
