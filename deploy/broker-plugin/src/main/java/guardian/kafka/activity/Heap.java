package guardian.kafka.activity;

/** About what things take of the heap: enough to keep a bound. */
final class Heap {
    private static final int STRING_BYTES = 48;

    private Heap() {}

    /** As if each of its letters took two bytes, which few do. */
    static int text(String text) {
        return STRING_BYTES + 2 * text.length();
    }
}
