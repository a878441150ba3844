package guardian.kafka.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class BrokerConfigsTest {
    @Test
    void aBlankValueIsNotSet() {
        assertEquals("unset", BrokerConfigs.text(Map.of(), "key", "unset"));
        assertEquals("unset", BrokerConfigs.text(Map.of("key", " "), "key", "unset"));
        assertEquals("a b", BrokerConfigs.text(Map.of("key", " a b "), "key", "unset"));
        assertTrue(BrokerConfigs.flag(Map.of("key", ""), "key", true));
    }

    @Test
    void whatKafkaHasParsedIsReadLikeText() {
        assertEquals(List.of("a", "b", "c"), BrokerConfigs.list(Map.of("key", List.of("a", "b", "c")), "key", ""));
        assertEquals(List.of("a", "b", "c"), BrokerConfigs.list(Map.of("key", "a, b,,c,"), "key", ""));
        assertEquals(List.of("x", "y"), BrokerConfigs.list(Map.of("key", List.of()), "key", "x,y"));
        assertEquals("7", BrokerConfigs.text(Map.of("key", 7), "key", ""));
        assertFalse(BrokerConfigs.flag(Map.of("key", false), "key", true));
    }

    @Test
    void aFlagIsTrueOrFalse() {
        String message = assertThrows(
                        IllegalArgumentException.class, () -> BrokerConfigs.flag(Map.of("key", "yes"), "key", true))
                .getMessage();
        assertEquals("key is 'yes': use true or false", message);
    }

    @Test
    void aNumberIsWholeAndWithinItsBounds() {
        assertEquals(OptionalLong.of(1), BrokerConfigs.number("1", 1, 3));
        assertEquals(OptionalLong.of(3), BrokerConfigs.number("3", 1, 3));
        for (String text : List.of("0", "4", "1.5", "two", "", "99999999999999999999")) {
            assertEquals(OptionalLong.empty(), BrokerConfigs.number(text, 1, 3), text);
        }
    }
}
