/** Computes for as long as its input is open; says when its methods are compiled. */
public class Prices {
    static long price(long order, int items) {
        long sum = order;
        for (int item = 0; item < items; item++) {
            sum = sum * 31 + item % 7;
        }
        return sum;
    }

    static void calls() {
        long sum = 0;
        for (int call = 0; call < 50_000; call++) {
            sum += price(call, 100);
        }
        System.out.println(sum);
    }

    public static void main(String[] arguments) throws Exception {
        for (int round = 0; round < 5; round++) {
            calls();
        }
        System.out.println("compiled");
        System.in.read();
    }
}
