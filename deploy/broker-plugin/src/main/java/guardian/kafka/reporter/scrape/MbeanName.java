package guardian.kafka.reporter.scrape;

import java.util.LinkedHashMap;
import java.util.Map;

/** An mbean's name in its parts: {@code domain:key=value,key="quoted value",...}. */
record MbeanName(String domain, Map<String, String> keys) {
    static MbeanName parse(String mbean) {
        int colon = mbean.indexOf(':');
        Map<String, String> keys = new LinkedHashMap<>();
        int at = colon + 1;
        while (at > 0 && at < mbean.length()) {
            int equals = mbean.indexOf('=', at);
            if (equals < 0) {
                break;
            }
            int end = endOfValue(mbean, equals + 1);
            keys.put(mbean.substring(at, equals), unquoted(mbean.substring(equals + 1, end)));
            at = end + 1;
        }
        return new MbeanName(mbean.substring(0, Math.max(colon, 0)), keys);
    }

    String key(String name) {
        return keys.getOrDefault(name, "");
    }

    private static int endOfValue(String mbean, int from) {
        boolean isQuoted = from < mbean.length() && mbean.charAt(from) == '"';
        for (int i = isQuoted ? from + 1 : from; i < mbean.length(); i++) {
            char each = mbean.charAt(i);
            if (isQuoted && each == '\\') {
                i++;
            } else if (isQuoted && each == '"') {
                return i + 1;
            } else if (!isQuoted && each == ',') {
                return i;
            }
        }
        return mbean.length();
    }

    /** As javax.management.ObjectName quotes, but what is quoted wrongly is taken as it is. */
    private static String unquoted(String value) {
        if (value.length() < 2 || value.charAt(0) != '"') {
            return value;
        }
        StringBuilder plain = new StringBuilder(value.length());
        for (int i = 1; i < value.length() - 1; i++) {
            char each = value.charAt(i);
            if (each == '\\' && i + 1 < value.length() - 1) {
                i++;
                each = value.charAt(i) == 'n' ? '\n' : value.charAt(i);
            }
            plain.append(each);
        }
        return plain.toString();
    }
}
