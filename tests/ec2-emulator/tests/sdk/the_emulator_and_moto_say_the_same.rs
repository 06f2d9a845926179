use crate::client::{client, emulator};
use crate::conversation::converse;
use crate::moto::moto;

#[tokio::test]
async fn the_conversation_with_the_emulator() {
    converse(&emulator().await).await;
}

#[tokio::test]
async fn the_conversation_with_moto() {
    let moto = moto().await;
    converse(&client(&moto.endpoint)).await;
}
