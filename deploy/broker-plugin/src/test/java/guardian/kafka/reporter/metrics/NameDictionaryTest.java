package guardian.kafka.reporter.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class NameDictionaryTest {
    private final NameDictionary dictionary = new NameDictionary();

    private int add(String mbean, String... attributes) {
        return dictionary.entry(mbean, List.of(attributes), () -> mbean).firstId();
    }

    @Test
    void aMetricKeepsItsIds() {
        assertEquals(0, add("a", "Count", "Mean"));
        assertEquals(2, add("b", "Value"));
        assertEquals(0, add("a", "Count", "Mean"));
        assertEquals(3, dictionary.size());
    }

    @Test
    void aMetricThatComesBackAsAnotherKindGetsNewIds() {
        add("a", "Value");
        assertEquals(1, add("a", "Count"));
        assertEquals(List.of("a:Value", "a:Count"), dictionary.missing(0, 0).names());
    }

    @Test
    void aCallerWithoutADictionaryIsToldAllNames() {
        add("a", "Count", "Mean");
        assertEquals(new NameDictionary.Missing(0, List.of("a:Count", "a:Mean")), dictionary.missing(0, 0));
    }

    @Test
    void aCallerThatKnowsAPrefixIsToldTheRest() {
        add("a", "Count", "Mean");
        add("b", "Value");
        assertEquals(new NameDictionary.Missing(2, List.of("b:Value")), dictionary.missing(dictionary.id(), 2));
        assertEquals(new NameDictionary.Missing(3, List.of()), dictionary.missing(dictionary.id(), 3));
    }

    @Test
    void aCallerOfAnotherDictionaryIsToldAllNames() {
        add("a", "Value");
        assertEquals(new NameDictionary.Missing(0, List.of("a:Value")), dictionary.missing(dictionary.id() + 1, 1));
    }

    @Test
    void aCallerThatKnowsMoreThanThereIsStartsAnew() {
        add("a", "Value");
        NameDictionary.Missing all = new NameDictionary.Missing(0, List.of("a:Value"));
        assertEquals(all, dictionary.missing(dictionary.id(), 2));
        assertEquals(all, dictionary.missing(dictionary.id(), -1));
    }

    @Test
    void eachDictionaryHasAnIdOfItsOwn() {
        assertNotEquals(dictionary.id(), new NameDictionary().id());
        assertNotEquals(0, dictionary.id());
    }
}
