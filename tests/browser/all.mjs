// All suites. The longest begin first.
import './webhooks.test.mjs';
import './attacks.test.mjs';
import './every_page.test.mjs';
import './keys.test.mjs';
import './members.test.mjs';
import './security.test.mjs';
import './tabs.test.mjs';
import './sign-in.test.mjs';
import './lists.test.mjs';
import './inbox.test.mjs';
import './audit.test.mjs';
import './overview.test.mjs';
