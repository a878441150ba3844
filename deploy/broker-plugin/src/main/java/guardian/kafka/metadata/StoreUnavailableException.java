package guardian.kafka.metadata;

/** No answer from Guardian in time. A write may be stored or not, and repeating it is safe either way. */
final class StoreUnavailableException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    StoreUnavailableException(String sentence) {
        super(sentence);
    }
}
