//! EC2 for tests: its address rules as a pure state machine, and the EC2 Query protocol in front.
//!
//! [`state::Ec2`] has the rules and nothing else; [`wire`] turns forms into requests and answers into
//! XML, as API version 2016-11-15 has them; [`front`] serves both over HTTP and adds what a client has
//! to live with: throttling, a Describe that lags, lost connections, late and repeated execution.

pub mod front;
pub mod state;
pub mod wire;
