using System;
using System.Runtime.CompilerServices;

/// Computes for as long as its input is open; says when its methods are compiled.
public static class Prices
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Price(long order, int items)
    {
        long sum = order;
        for (int item = 0; item < items; item++)
        {
            sum = sum * 31 + item % 7;
        }
        return sum;
    }

    public static void Main()
    {
        long sum = 0;
        for (int call = 0; call < 50000; call++)
        {
            sum += Price(call, 100);
        }
        Console.WriteLine(sum);
        Console.WriteLine("compiled");
        Console.In.ReadLine();
    }
}
