package guardian.kafka.activity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Map;
import org.junit.jupiter.api.Test;

class ActivitySettingsTest {
    @Test
    void whatIsNotSetHasItsDefault() {
        ActivitySettings defaults = ActivitySettings.read(Map.of());
        assertEquals(new ActivitySettings(true, 60, 15, 64L << 20, 50_000, true), defaults);
        assertEquals(15, defaults.slicesKept());
        assertEquals(1, ActivitySettings.read(Map.of(ActivitySettings.SLICE_S, "3600")).slicesKept());
    }

    @Test
    void aBadValueIsNamedWithTheFix() {
        Exception flag = assertThrows(
                IllegalArgumentException.class, () -> ActivitySettings.read(Map.of(ActivitySettings.ADDRESSES, "no")));
        assertEquals("guardian.activity.addresses is 'no': use true or false", flag.getMessage());
        Exception number = assertThrows(
                IllegalArgumentException.class, () -> ActivitySettings.read(Map.of(ActivitySettings.SLICE_S, "1m")));
        assertEquals("guardian.activity.slice.s is '1m': use a number from 1 to 3600", number.getMessage());
    }
}
