//! EC2 for tests: its address rules as a pure state machine, and the EC2 Query protocol in front.
//!
//! [`state::Ec2`] has only the rules. [`wire`] parses forms into requests and writes answers as XML, in the format of
//! API version 2016-11-15. [`front`] serves both over HTTP and adds the other behaviour of EC2: throttling, Describe
//! lag, lost connections, late and repeated execution.

pub mod front;
pub mod state;
pub mod wire;
