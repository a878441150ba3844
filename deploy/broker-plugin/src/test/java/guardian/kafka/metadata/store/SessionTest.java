package guardian.kafka.metadata.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class SessionTest {
    @Test
    void numbersCountUpAndSayBelowWhichAllAreAnswered() {
        Session session = new Session(5, 4);
        assertEquals(1, session.take());
        assertEquals(2, session.take());
        assertEquals(3, session.take());
        session.release(2);
        assertEquals(1, session.ref(3).getAnsweredBelow());
        session.release(1);
        assertEquals(3, session.ref(3).getAnsweredBelow());
        assertEquals(5, session.ref(3).getId());
    }

    @Test
    void theWindowIsCountedFromTheOldestThatIsNotAnswered() {
        Session session = new Session(5, 3);
        session.take();
        session.take();
        assertTrue(session.hasRoom());
        session.take();
        session.release(2);
        session.release(3);
        assertFalse(session.hasRoom());
        session.release(1);
        assertTrue(session.hasRoom());
    }
}
