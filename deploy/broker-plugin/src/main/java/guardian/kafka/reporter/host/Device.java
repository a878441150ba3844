package guardian.kafka.reporter.host;

/** A block device by the kernel's numbers. */
record Device(int major, int minor) {
    /** Which no disk has. */
    static final Device NONE = new Device(0, 0);

    /** From stat's st_dev, as Linux encodes it in 64 bits. */
    static Device ofStDev(long stDev) {
        long major = ((stDev >>> 8) & 0xfff) | ((stDev >>> 32) & ~0xfffL);
        long minor = (stDev & 0xff) | ((stDev >>> 12) & ~0xffL);
        return new Device((int) major, (int) minor);
    }
}
