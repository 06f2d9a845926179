//! An IP whose status cannot be read. It is only reported: an address with an unknown place must neither count as free
//! nor be moved.
//! Rule: R5.34.

use alloc::format;
use alloc::vec;

use super::refused_writes::refused;
use crate::facts::Facts;
use crate::objects::{UnreadableIp, UnreadableReport};
use crate::reason::Reason;
use crate::step::{Decision, Notice, Regarding, Step, Write};
use crate::time::Instant;

impl Facts {
    pub(super) fn unreadable(&self, ip: &UnreadableIp, now: Instant) -> Decision {
        let message = format!(
            "its status cannot be read: {}: correct it (kubectl edit ip {} --subresource=status); until then \
             nothing is done for this IP, and its address stays where it is",
            ip.problem, ip.name
        );
        let notice = Notice {
            on: Regarding::Ip(ip.name.clone(), ip.uid.clone()),
            reason: Reason::Invalid,
            message: message.clone(),
        };
        let reported = match &ip.report {
            UnreadableReport::NotWritable => true,
            UnreadableReport::Nothing => false,
            UnreadableReport::Unreadable(reported) => reported == &message,
        };
        let step = (!reported).then(|| {
            Step::Write(Write::ReportUnreadable {
                ip: ip.name.clone(),
                version: ip.version,
                message,
            })
        });
        let failures = self.memory.get(&ip.name).map(|memory| &memory.failures);
        let again = step.as_ref().and_then(|step| failures?.due(step, now));
        let mut notices = vec![notice];
        if let Some(Step::Write(report)) = &step
            && let Some(text) = failures.and_then(|it| it.writes.refusal(report, now))
        {
            notices.push(Notice {
                on: Regarding::Ip(ip.name.clone(), ip.uid.clone()),
                reason: Reason::WriteRefused,
                message: refused(&ip.name, report, text),
            });
        }
        Decision {
            step: step.filter(|_| again.is_none()),
            again,
            notices,
        }
    }
}
