package guardian.kafka.metadata.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class MembersTest {
    private static final long NOW = Long.MAX_VALUE - 5; // clocks may run over

    private final Members members = new Members(List.of("a:1", "b:1", "c:1", "a:1"), 4);

    @Test
    void readsGoToAllInTurn() {
        List<String> asked = IntStream.range(0, 6).mapToObj(i -> members.forRead(NOW)).toList();
        assertEquals(List.of("b:1", "c:1", "a:1", "b:1", "c:1", "a:1"), asked);
    }

    @Test
    void changesGoToTheLeaderOnceItIsKnown() {
        members.learn(List.of("a:1", "d:1"), "d:1");
        assertEquals("d:1", members.forChange(NOW));
        assertTrue(members.isLeaderElsewhere("a:1", NOW));
        assertFalse(members.isLeaderElsewhere("d:1", NOW));
        assertEquals(List.of("a:1", "b:1", "c:1", "d:1"), members.endpoints());
    }

    @Test
    void aMemberThatFailedIsAskedLastForAWhileThatGrows() {
        members.failed("b:1", NOW);
        members.failed("b:1", NOW);
        Set<String> asked = IntStream.range(0, 9).mapToObj(i -> members.forRead(NOW)).collect(Collectors.toSet());
        assertEquals(Set.of("a:1", "c:1"), asked);
        long later = NOW + 2 * Members.FIRST_PENALTY_NANOS;
        assertTrue(IntStream.range(0, 3).mapToObj(i -> members.forRead(later - 1)).noneMatch("b:1"::equals));
        assertTrue(IntStream.range(0, 3).mapToObj(i -> members.forRead(later)).anyMatch("b:1"::equals));
    }

    @Test
    void whenAllFailedTheOneWhoseTimeComesFirstIsAsked() {
        members.failed("a:1", NOW + 3);
        members.failed("b:1", NOW + 1);
        members.failed("c:1", NOW + 2);
        assertEquals("b:1", members.forRead(NOW + 4));
    }

    @Test
    void aLeaderThatFailedIsNoneUntilItAnswers() {
        members.learn(List.of(), "a:1");
        members.failed("a:1", NOW);
        assertFalse(members.isLeaderElsewhere("b:1", NOW));
        members.learn(List.of(), "a:1"); // others still believe in it
        assertFalse(members.isLeaderElsewhere("b:1", NOW));
        members.answered("a:1");
        assertEquals("a:1", members.forChange(NOW));
    }

    @Test
    void aMemberThatLeftTheGroupIsForgottenUnlessItWasGiven() {
        members.learn(List.of("d:1"), "d:1");
        members.learn(List.of("e:1"), "");
        assertEquals(List.of("a:1", "b:1", "c:1", "e:1"), members.endpoints());
    }

    @Test
    void namesThatNoChannelCanBeMadeToArePassedOver() {
        members.learn(List.of("d_1:1", "d:1", ""), "d_1:1");
        assertEquals(List.of("a:1", "b:1", "c:1", "d:1"), members.endpoints());
        assertFalse(members.isLeaderElsewhere("a:1", NOW));
        assertTrue(members.endpoints().contains(members.forChange(NOW)));
    }
}
