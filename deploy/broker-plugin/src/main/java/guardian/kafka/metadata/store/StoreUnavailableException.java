package guardian.kafka.metadata.store;

/** No answer from Guardian in time. A write may be stored or not, and repeating it is safe either way. */
public final class StoreUnavailableException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public StoreUnavailableException(String sentence) {
        super(sentence);
    }
}
