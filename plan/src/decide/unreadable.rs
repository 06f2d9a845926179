//! An IP whose status cannot be read. It is only reported: an address with an unknown place must neither count as free
//! nor be moved.

use alloc::format;
use alloc::vec;

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
        let memory = self.memory.get(&ip.name);
        let again = step
            .as_ref()
            .and_then(|step| memory?.failures.due(step, now));
        Decision {
            step: step.filter(|_| again.is_none()),
            again,
            notices: vec![notice],
        }
    }
}
