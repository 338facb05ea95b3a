"""Writes the scenario of many threads that serve, through whose waits scripts/bench follows (docs/benchmarks.md).

Output: a scenario (docs/scenario-language.md) on stdout, for `tracegen scenario` beside `linux.code` and `serving.code` of fixtures/scenarios.
On CPUs 0 to 3 the process `served` has so many threads; on CPUs 4 to 7 `client` has two connections to each of them, and a thread for
each. A client sleeps, begins a request, writes it, waits for the answer, reads it, ends the request. A server's thread waits in epoll
for its connections, reads, parses, looks up, counts under a lock that four threads share, answers. Chance, by the seed, decides lengths
alone: who waits for whom follows from the simulation. CPUs, locks and connections are served in the order of arrival.

Ten slow requests are planted, two of each kind, equally long. A process without intervals, `admin`, has sent before:
`first`: the same thread a list of 1.2 ms, `lock`: another thread a save that holds the lock, `queue`: another thread of the CPU a
list that is not preempted. `disk`: the thread reads a block. `grow`: it rehashes its table. Where a request
waits, others wait, too, though not as long. At the end all threads are in the kernel and all CPUs idle, as at the begin:
the capture can be repeated.
"""

import argparse
import heapq
import random
import sys
from collections import deque

SERVER_CPUS, CLIENT_CPUS = [0, 1, 2, 3], [4, 5, 6, 7]
KINDS = ["first", "lock", "queue", "disk", "grow"]
SLOW_NS = 1_200_000
LEAD_NS = 30_000  # so long before the request is the admin's order
MARGIN_NS = 150_000  # so long before its end is the cause over, where others wait for it, too: the rest is the client's own work
SLICE_NS = 4_000  # so often does long work look for others that could run
EPOLL_WAIT, NANOSLEEP, FUTEX, READ, WRITE, RECVFROM, PREAD = 232, 230, 202, 0, 1, 45, 17


class Cpu:
    """A CPU: its clock in ns, who runs, who waits to run, the interrupts to come, and the lines of its timeline."""

    def __init__(self, number):
        self.number, self.now, self.running, self.turn = number, 10_000, None, 0
        self.ready, self.due = deque(), []
        self.lines = ["", f"cpu {number}", "  at 10us", f"  runs swapper{number}", "  trace on do_idle"]
        self.run("to .idle_woken", 100)

    def run(self, what, ns):
        self.lines.append(f"  run {what} for {ns}ns")
        self.now += ns

    def say(self, line):
        self.lines.append("  " + line)


class Message:
    """What is sent: by whom, on which descriptor of the receiver, what is wanted, and until when long work takes."""

    def __init__(self, sender, fd, kind, until=0, to=None):
        self.sender, self.fd, self.kind, self.until, self.to = sender, fd, kind, until, to


class Lock:
    def __init__(self, number):
        self.address, self.holder, self.queue = 0x7F0000001000 + 64 * number, None, deque()


class Thread:
    """A thread; between two steps of its `life` other CPUs act. In the begin it sleeps in a call, to which `back` names the way."""

    def __init__(self, machine, name, ids, cpu, back):
        self.machine, self.name, self.ids, self.cpu, self.back = machine, name, ids, machine.cpus[cpu], back
        self.inbox, self.waiting, self.off, self.preempted = deque(), False, 0, False
        self.life = self.steps()

    def enter(self, call, arguments):
        self.cpu.run("1", 0)
        self.cpu.run("to do_syscall_64", 50)
        self.cpu.say(f"record raw_syscalls:sys_enter id={call} args={arguments}")

    def leave(self, call, value=0):
        """Back to user code, and the record of that."""
        self.cpu.run("through .sysret" + (f" targets {self.back.pop()}" if self.back else ""), 250)
        self.cpu.say(f"record raw_syscalls:sys_exit id={call} ret={value}")

    def instant(self, name, call, arguments, value):
        """A call that waits for nothing."""
        self.enter(call, arguments)
        self.cpu.run(f"through .sysret targets __x64_sys_{name} branches T", 300)
        self.cpu.say(f"record raw_syscalls:sys_exit id={call} ret={value}")

    def sleep(self, name, call, arguments, over=lambda: False, before=lambda: None):
        """A call that waits until another thread or an interrupt wakes this one, if it is not `over` by then."""
        self.enter(call, arguments)
        self.cpu.run(f"to __schedule targets __x64_sys_{name} branches N", 350)
        before()
        yield
        if over():
            self.cpu.run("through .scheduled", 50)
        else:
            yield "D" if name == "pread64" else "S"

    def send(self, fd, to, message):
        self.enter(WRITE, f"{fd},0x7ffc00002000,64")
        self.cpu.run("to vfs_write targets __x64_sys_write", 200)
        yield
        to.inbox.append(message)
        if to.waiting:
            to.waiting = False
            self.machine.wake(self.cpu, to)
        self.cpu.run("through .sysret branches T", 300)
        self.cpu.say(f"record raw_syscalls:sys_exit id={WRITE} ret=64")

    def poll(self, loop):
        """From the end of a round to the next message."""
        self.cpu.run(f"to {loop}", 50)
        yield
        if self.inbox:
            self.instant("epoll_wait", EPOLL_WAIT, "4,0x7ffc00003000,64,0xffffffff", 1)
        else:
            yield from self.sleep("epoll_wait", EPOLL_WAIT, "4,0x7ffc00003000,64,0xffffffff", self.has_mail)
            self.leave(EPOLL_WAIT, 1)

    def has_mail(self):
        self.waiting = not self.inbox
        return bool(self.inbox)


class Client(Thread):
    def __init__(self, machine, number, server):
        self.server, self.fd = server, 10 + number
        super().__init__(machine, f"client{number}", f"1000/{1000 + number} named client", 4 + number % 4,
                         [".called,.returned,.rested", ".nanosleep_done"])

    def steps(self):
        machine, cpu = self.machine, self.cpu
        while True:
            self.leave(NANOSLEEP)
            number = machine.next_request()
            if number is not None:
                kind = machine.planted.get(number, "get")
                if kind in ["first", "lock", "queue"]:
                    cpu.run("to order branches N targets order", 50)
                    until = cpu.now + LEAD_NS + SLOW_NS - (MARGIN_NS if kind == "queue" else MARGIN_NS // 2)
                    order = Message(self, 5, kind, until, machine.hindrance(kind, self.server))
                    yield from self.send(9, machine.admin, order)
                    cpu.run("to client_loop", 50)
                    yield from self.nap(LEAD_NS)
                    self.leave(NANOSLEEP)
                yield from self.ask(number, kind)
                cpu.run("to client_loop", 50)
            else:
                cpu.run("to client_loop branches T", 50)
            yield from self.nap(machine.random.randrange(200, 1000) * 1000 if machine.left() else None)

    def nap(self, ns):
        wake = (lambda: self.machine.interrupt(self.cpu, self.cpu.now + ns, self)) if ns else lambda: None
        yield from self.sleep("clock_nanosleep", NANOSLEEP, "1,0,0x7ffc00003000,0", before=wake)

    def ask(self, number, kind):
        cpu = self.cpu
        cpu.run("to request branches N targets request", 50)
        begin = cpu.now
        cpu.say(f"begin get {number}")
        cpu.run("to .ask branches T99N", 1000)
        request = Message(self, self.server_fd(), kind, begin + SLOW_NS - MARGIN_NS // 2)
        yield from self.send(self.fd, self.server, request)
        cpu.run("to .await branches T9N", 200)
        self.waiting = True
        yield from self.sleep("recvfrom", RECVFROM, f"{self.fd},0x7ffc00002000,4096")
        self.leave(RECVFROM, 64)
        self.inbox.popleft()
        digest = 1000 if kind == "get" else begin + SLOW_NS - cpu.now
        assert digest > 0, (number, kind, digest)
        cpu.run("to .digested branches T99N", digest)
        cpu.say(f"end {number}")

    def server_fd(self):
        return 8 + (self.fd - 10) // len(self.machine.servers)


class Admin(Thread):
    def __init__(self, machine):
        super().__init__(machine, "admin", "900/900", 4, [".called,.returned,.polled", ".epoll_done"])

    def steps(self):
        self.has_mail()
        self.leave(EPOLL_WAIT, 1)
        while True:
            self.cpu.run("to admin_take", 50)
            message = self.inbox.popleft()
            self.instant("read", READ, f"{message.fd},0x7ffc00002000,4096", 64)
            if message.to:
                self.cpu.run("to admin_send branches N", 50)
                order = Message(self, 7, "save" if message.kind == "lock" else message.kind, message.until)
                yield from self.send(6, message.to, order)
            else:
                self.cpu.run("to .took branches T", 50)
            yield from self.poll("admin_loop")


class Server(Thread):
    def __init__(self, machine, number):
        self.lock = machine.locks[number // 4]
        super().__init__(machine, f"served{number}", f"200/{200 + number} named served", number % 4,
                         [".called,.returned,.ready", ".epoll_done"])

    def steps(self):
        cpu = self.cpu
        self.leave(EPOLL_WAIT, 1)
        while True:
            cpu.run("to serve_connection", 50)
            message = self.inbox.popleft()
            self.instant("read", READ, f"{message.fd},0x7ffc00002000,4096", 64)
            yield
            cpu.run("to .parsed branches T99N", 1500)
            yield
            yield from self.work(message)
            cpu.run("to send_reply", 50)
            yield from self.send(message.fd, message.sender, Message(self, 6, "answer"))
            yield from self.poll("serve_loop")

    def work(self, message):
        cpu = self.cpu
        if isinstance(message.sender, Admin):
            if message.kind == "save":
                cpu.run("to lock_counters targets handle_save", 50)
                yield from self.take_lock()
                yield from self.long("unlock_counters", ".save", message.until)
                yield from self.free_lock()
            else:
                cpu.run("to handle_list targets handle_list", 50)
                yield from self.long(".handled", ".list", message.until, message.kind != "queue")
            return
        if message.kind == "grow":
            cpu.run("to table_rehash targets handle_grow", 50)
            yield from self.long("table_find", ".rehash", message.until)
        elif message.kind == "disk":
            cpu.run("to load_block targets handle_cold", 50)
            yield from self.sleep("pread64", PREAD, "6,0x7ffc00004000,4096,1048576", before=lambda: self.issue(message.until))
            self.leave(PREAD, 4096)
            cpu.run("to table_find", 50)
        else:
            cpu.run("to table_find targets handle_get", 50)
        cpu.run("to lock_counters branches T99N", self.machine.random.randrange(150, 400) * 10)
        yield from self.take_lock()
        cpu.run("to unlock_counters branches T9N", 300)
        yield from self.free_lock()

    def issue(self, until):
        self.cpu.say("record block:block_rq_issue dev=259:1 sector=2048 nr_sector=8 bytes=4096 rwbs=R")
        self.machine.interrupt(self.cpu, until, self, disk=True)

    def take_lock(self):
        yield
        lock, cpu = self.lock, self.cpu
        if lock.holder:
            cpu.run("to .contended branches N", 30)
            yield from self.sleep("futex", FUTEX, f"{lock.address:#x},128,2", self.has_lock)
            self.leave(FUTEX)
        else:
            lock.holder = self
            cpu.run("to .locked branches T", 30)

    def has_lock(self):
        lock = self.lock
        if lock.holder:
            lock.queue.append(self)
            return False
        lock.holder = self
        return True

    def free_lock(self):
        yield
        lock, cpu = self.lock, self.cpu
        lock.holder = lock.queue.popleft() if lock.queue else None
        if lock.holder:
            cpu.run("to .waited_for branches N", 20)
            self.enter(FUTEX, f"{lock.address:#x},129,1")
            cpu.run("to __x64_sys_futex targets __x64_sys_futex", 50)
            self.machine.wake(cpu, lock.holder)
            cpu.run("through .sysret branches T", 200)
            cpu.say(f"record raw_syscalls:sys_exit id={FUTEX} ret=1")
        else:
            cpu.run("to .unlocked branches T", 30)

    def long(self, end, loop, until, preemptible=True):
        """Computes in `loop` until that time; others may have the CPU in between."""
        cpu = self.cpu
        cpu.run(f"to {loop}", 20)
        while cpu.now + SLICE_NS < until:
            cpu.run("200 branches T100", SLICE_NS)
            yield
            if preemptible and cpu.ready:
                cpu.say("interrupt asm_sysvec_reschedule_ipi")
                cpu.run("to __schedule branches T9NN", 300)
                yield "R+"
                cpu.run("through .iret", 100)
        cpu.run(f"to {end} branches T9N", 100)


class Machine:
    """The simulation: what happens in the order of time, each time one step of one CPU."""

    def __init__(self, options):
        self.random, self.events, self.pushed = random.Random(options.seed), [], 0
        self.requests, self.begun = options.requests, 0
        self.planted = {(place + 1) * options.requests // 11: kind for place, kind in enumerate(2 * KINDS)}
        self.cpus = [Cpu(number) for number in SERVER_CPUS + CLIENT_CPUS]
        self.locks = [Lock(number) for number in range(-(-options.servers // 4))]
        self.servers = [Server(self, number) for number in range(options.servers)]
        self.clients = [Client(self, number, self.servers[number % options.servers]) for number in range(2 * options.servers)]
        self.admin = Admin(self)
        for thread in [*self.servers, self.admin]:
            thread.waiting = True
        for client in self.clients:
            self.interrupt(client.cpu, self.random.randrange(20, 800) * 1000, client)

    def left(self):
        return self.begun < self.requests

    def next_request(self):
        if not self.left():
            return None
        self.begun += 1
        return self.begun - 1

    def hindrance(self, kind, server):
        """The thread that is to hinder `server`."""
        number = self.servers.index(server)
        if kind == "lock":
            return self.servers[number ^ 1]
        return server if kind == "first" else self.servers[(number + 4) % len(self.servers)]

    def push(self, time, cpu, turn=None):
        self.pushed += 1
        heapq.heappush(self.events, (time, self.pushed, cpu, turn))

    def interrupt(self, cpu, time, thread, disk=False):
        """A timer or the disk wakes `thread` then, or at the next step of the thread that runs."""
        self.pushed += 1
        heapq.heappush(cpu.due, (time, self.pushed, thread, disk))
        self.push(time, cpu)

    def go(self):
        while self.events:
            time, _, cpu, turn = heapq.heappop(self.events)
            if not cpu.running:
                self.leave_idle(cpu, max(time, cpu.now))
            elif turn == cpu.turn:
                self.step(cpu)

    def step(self, cpu):
        while cpu.due and cpu.due[0][0] <= cpu.now:
            self.take_interrupt(cpu)
        thread = cpu.running
        state = next(thread.life)
        if state:
            self.change(cpu, thread.name, state)
            thread.off = cpu.now
            if state == "R+":
                cpu.ready.append(thread)
        else:
            self.go_on(cpu)

    def go_on(self, cpu):
        cpu.turn += 1
        self.push(cpu.now, cpu, cpu.turn)

    def leave_idle(self, cpu, time):
        is_due = cpu.due and cpu.due[0][0] <= time
        if not is_due and not cpu.ready:
            return
        if time > cpu.now:
            cpu.now = time
            cpu.say(f"at {time}ns")
        if is_due:
            self.take_interrupt(cpu)
        else:
            cpu.say("interrupt asm_sysvec_reschedule_ipi")
            cpu.run("through .iret branches T9NT", 400)
        cpu.run("to __schedule branches N", 100)
        self.change(cpu, f"swapper{cpu.number}", "R")

    def take_interrupt(self, cpu):
        _, _, thread, disk = heapq.heappop(cpu.due)
        entry = "common_interrupt" if disk else "sysvec_apic_timer_interrupt"
        cpu.say(f"interrupt asm_{entry}")
        cpu.run(f"to {entry}", 100)
        if disk:
            cpu.say("record irq:irq_handler_entry irq=24 name=nvme0q2")
            cpu.say("record block:block_rq_complete dev=259:1 sector=2048 nr_sector=8 rwbs=R")
        else:
            cpu.say("record irq_vectors:local_timer_entry")
        self.wake(cpu, thread)
        cpu.say("record irq:irq_handler_exit irq=24" if disk else "record irq_vectors:local_timer_exit")
        cpu.run(f"through .iret branches T9N{'T' if disk else ''}T", 400)

    def wake(self, cpu, thread):
        if thread.off > cpu.now:
            cpu.say(f"gap {thread.off - cpu.now}ns")
            cpu.now = thread.off
        cpu.say(f"record sched:sched_waking thread={thread.name} target_cpu={thread.cpu.number}")
        thread.cpu.ready.append(thread)
        if not thread.cpu.running:
            self.push(cpu.now + 600, thread.cpu)

    def change(self, cpu, leaving, state):
        """In __schedule: the next thread that can run, or else the idle task, has the CPU."""
        cpu.run("1", 50)
        thread = cpu.running = cpu.ready.popleft() if cpu.ready else None
        coming = thread.name if thread else f"swapper{cpu.number}"
        cpu.say(f"record sched:sched_switch next={coming} prev_state={state}")
        cpu.say(f"switch {coming}" + (" preempt" if state == "R+" else ""))
        cpu.run("through .scheduled" + (f" targets {thread.back.pop()}" if thread and thread.back else ""), 50)
        if thread:
            self.go_on(cpu)
        else:
            cpu.run("to .idle_woken", 100)
            if cpu.due:
                self.push(cpu.due[0][0], cpu)

    def write(self, file):
        print("# Test that the waits for many threads that serve can be followed.", file=file)
        print(f"# Variant: {len(self.servers)} of them, {self.requests} requests.", file=file)
        print("machine", f"  cpus {len(self.cpus)}", "include linux.code", "include serving.code", sep="\n", file=file)
        for thread in [*self.servers, *self.clients, self.admin]:
            print(f"thread {thread.name} {thread.ids}", file=file)
        for cpu in self.cpus:
            print(f"thread swapper{cpu.number} 0/0 named swapper/{cpu.number}", file=file)
        for cpu in self.cpus:
            print("\n".join(cpu.lines), file=file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--servers", type=int, default=32)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    machine = Machine(parser.parse_args())
    machine.go()
    machine.write(sys.stdout)


if __name__ == "__main__":
    main()
